#! error E0601 2:14-2:16 "index 10 is out of range for length 3"
inner(x) = x[10]
outer(x) = inner(x) + 1
outer([1, 2, 3])
