#! error E0301 3:1 "a function that `checkpoint` gives" hint "explain(checkpoint(f; snapshots = 20), x)"
f(x) = x^2
explain(f, 1.0)
