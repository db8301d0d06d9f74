#! error E0302 2:12-2:22 "cannot add i64[3] and i64[2]" second 3:18 "i64[3] came from here"
inner(x) = x + [1, 2]
outer(x) = inner(x) + 1
outer([1, 2, 3])
