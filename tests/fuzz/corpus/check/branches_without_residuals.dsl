# recursion
pw(x, n) = if n == 0 { 1.0 } else if n % 2 == 0 { pw(x * x, n // 2) } else { x * pw(x, n - 1) }
(x -> pw(x, 13))'(1.1)               #~ 13 * 1.1^12
(x -> pw(x, 13))''(1.1)              #~ 156 * 1.1^11
grad(x -> pw(x, 13))(1.1)            #~ 13 * 1.1^12
taylor(x -> pw(x, 13), 1.0, 3)       #~ [1, 13, 78, 286]
horner(v, x, i) = if i == len(v) { 0.0 } else { v[i] + x * horner(v, x, i + 1) }
grad(v -> horner(v, 2.0, 0))([1.0, 1, 1])    #> [1, 2, 4]
(x -> horner([1.0, 1, 1], x, 0))'(2.0)       #> 5.0
