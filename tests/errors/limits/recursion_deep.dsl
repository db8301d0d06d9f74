#! error E0904 2:35-2:43 "the recursion is more than 2000 calls deep"
f(n) = if n == 0 { 0 } else { 1 + f(n - 1) }
f(1000000)
