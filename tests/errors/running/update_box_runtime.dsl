#! error E0601 2:13-2:31 "a slice of 7 elements from index 0 does not fit an axis of length 3"
f(x, n) = { x[..n] = 2x[0] + 1; x }
f([1, 2, 3], 7)
