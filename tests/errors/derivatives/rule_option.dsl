#! error E0404 "the rule of `r` has no partial derivative for `k`"
r(x; k = 2.0) = k*x^2
derivative r(x; k) = 2*k*x
(k -> r(3.0; k = k))'(5.0)
