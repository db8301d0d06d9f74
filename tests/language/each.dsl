# Loops and map over each(n) are unrolled, so that items may have different
# types.
r = (1.5, "two", [3, 4])
map(k -> kind(r[k]), each(3))       #> list("array", "string", "array")
kinds = list()
for k in each(len(r)) { kinds = push(kinds, kind(r[k])) }
kinds                               #> list("array", "string", "array")
each(2, 5)                          #> list(2, 3, 4)
each(5, 2)                          #> list()
len(each(0))                        #> 0
# The extent of an array is known at specialisation.
f(x) = { s = 0.0; for k in each(len(x)) { s += x[k]^(k + 1) }; s }
f([1.0, 2, 3])                      #> 32.0
grad(f)([1.0, 2, 3])                #> [1, 4, 27]
# So is a computed value at top level.
some = findall([1, 0, 1] > 0)
each(len(some))                     #> list(0, 1)
