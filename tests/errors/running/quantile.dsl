#! error E0605 2:1-2:25 "a quantile is asked for a part between 0 and 1"
quantile([1, 2, 3], 1.5)
