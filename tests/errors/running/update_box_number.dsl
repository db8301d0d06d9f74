#! error E0601 2:13-2:27 "index 20 is out of range for an axis of length 20"
f(x, i) = { x[i, 1..] += 1; x }
f(zeros(20, 20), 20)
