# a recursive function of two kinds whose first attempt found no effects: what it had promised to return has none either
#! error E0401 4:1-4:23 "has no derivative"
pw(x, n) = if x == 0 { 1.0 } else if x == 0 { (x * x, n == 2) } else { x * pw(n, x - 2) }
(x -> pw(x, 13))'(1.1)
