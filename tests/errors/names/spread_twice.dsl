#! error E0203 4:11-4:21 "the argument `a` is given twice"
g(x; a = 1) = a * x
options = (a = 2, b = 1)
g(1; a=3, ...options)
