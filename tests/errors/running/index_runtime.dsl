#! error E0601 2:11-2:15 "index 7 is out of range for an axis of length 3"
f(x, i) = x[i]
f([1, 2, 3], 7)
