#! error E0601 3:3-3:4 "index 3 is out of range for length 3"
x = [1, 2, 3]
x[3]
