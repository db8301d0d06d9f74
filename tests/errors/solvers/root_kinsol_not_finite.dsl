#! error E0701 2:1 "no zero found: f is not finite there, however short the step" hint "a division by zero, or a root or logarithm of a negative number? nan_check(f, x; inf = true) names it"
root(x -> sqrt(x) + 1, [-1.0], kinsol())
