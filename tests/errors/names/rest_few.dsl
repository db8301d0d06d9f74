#! error E0202 3:1-3:4 "`f` takes at least 1 argument, and 0 are given"
f(x, ...a) = len(a)
f()
