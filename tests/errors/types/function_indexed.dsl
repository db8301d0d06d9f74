#! error E0301 3:1-3:5 "a function cannot be indexed" hint "a call is written f(x)"
f(x) = x^2
f[2]
