#! error E0605 2:10-2:23 "x > 0 does not hold"
f(x) = { assert(x > 0); x }
f(-1)
