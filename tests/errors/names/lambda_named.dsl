#! error E0203 3:6-3:11 "this function has no argument `k`"
f = x -> x
f(1; k = 2)
