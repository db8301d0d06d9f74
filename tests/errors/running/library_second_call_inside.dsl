#! error E0605 2:8-2:32 "a quantile is asked for a part between 0 and 1" trace "in f, called at"
f(p) = quantile([1.0, 2, 3], p)
f(0.5)
g(p) = quantile([1.0, 2, 3, 4], p)
g(0.5)
f(2.5)
