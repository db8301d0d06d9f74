#! error E0904 3:78 "the recursion is more than"
# two kinds of the same function call each other; the second was finished while the first was tried, and called what was tried
pw(x, n) = if x == 0 { 1.0 } else if n == 0 { pw(x * x, n == 2) } else { x * pw(n, x - 2) }
(x -> pw(x, 13))'(1.1)
