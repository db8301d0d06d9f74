#! error E0104 2:18-2:21 "`...` can stand only once in an index"
f(x) = x[..., 0, ...]
f([1,2;3,4])
