#! error E0601 2:9-2:21 "a slice of 400 elements from index 600 does not fit an axis of length 650"
f(u) = 2u[600..1000] + exp(u[600..1000])
sum(f(ones(1000)))
sum(f(ones(650)))
