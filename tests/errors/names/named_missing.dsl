#! error E0202 3:1-3:5 "`f` needs the named argument `k`"
f(x; k) = x * k
f(1)
