#! error E0601 2:10-2:38 "a slice of 400 elements from index 600 does not fit an axis of length 650"
f(u) = { u[600..1000] = exp(u[..400]); u }
sum(f(ones(1000)))
sum(f(ones(650)))
