#! error E0601 2:11-2:17 "a slice of 7 elements from index 0 does not fit an axis of length 3"
f(x, n) = x[..n]
f([1, 2, 3], 7)
