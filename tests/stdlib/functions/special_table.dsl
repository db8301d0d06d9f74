# special_table.dsl - special functions and distributions over their whole
# ranges, against mpmath: the largest relative error of each at the points of
# _special_reference.dsl. docs/reference/special.md has the table.
# | Where the condition number c exceeds 1000 (close to a zero, or where a
# function oscillates fast), the error is divided by c/1000. The last digit of
# an argument changes the value there by more than 1e-13.

use "_special_reference.dsl" as s
use "_special_table.dsl" as table

# Every function is within its bound, and none is less accurate than SciPy.
for r in s.rows { table.judge(r) }
len(s.rows) >= 150   #> true
