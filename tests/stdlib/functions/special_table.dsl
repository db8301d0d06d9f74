# special_table.dsl - special functions and distributions against mpmath over their whole ranges: the worst relative error of each at the
# points of _special_reference.dsl. docs/reference/special.md has the table.
#
# Where the condition c is above 1000 (near a zero, or where a function swings fast) the error counts divided by c/1000: there the
# last digit of an argument changes more than 1e-13 of the value.

use "_special_reference.dsl" as s
use "_special_table.dsl" as table

# every function is within its bound, and none is behind SciPy
for r in s.rows { table.judge(r) }
len(s.rows) >= 150   #> true
