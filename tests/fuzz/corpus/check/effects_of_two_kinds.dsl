pw(x, n) = if x == 0 { 1.0 } else if x == 0 { pw(x * x, n == 2) } else { x * pw(n, x - 2) }
#! error E0904 3:78 "the` recursion is more than"
pw(x, n) = if x == 0 { 1.0 } else if x == 0 { (x * x, n == 2) } else { x * pw(n, x - 2) }
(x -> pw(x, 13))'(1.1)
