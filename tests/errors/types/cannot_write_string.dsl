#! error E0301 3:1-3:11 "an update takes an array, not a string"
x = [1, 2, 3]
x[0] = "a"
