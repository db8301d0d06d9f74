#! error E0904 3:1-3:5 "`f` calls itself on every path: nothing ends the recursion"
f(x) = f(x + 1) + 1
f(1)
