#! error E0605 3:5-3:31 "a quantile is asked for a part between 0 and 1"
x = quantile([1.0, 2, 3], 0.5)
y = quantile([1.0, 2, 3], 2.5)
