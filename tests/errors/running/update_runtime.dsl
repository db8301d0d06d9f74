#! error E0601 2:13-2:21 "index 9 is out of range for an axis of length 3"
f(x, i) = { x[i] = 0; x }
f([1, 2, 3], 9)
