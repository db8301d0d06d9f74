#! error E0505 2:1-2:16 "trace takes a matrix, not a vector"
trace([1.0, 2])
