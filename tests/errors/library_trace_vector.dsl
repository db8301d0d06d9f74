#! error E0505 2:1-2:16 "trace takes a matrix, not an array of 1 axes"
trace([1.0, 2])
