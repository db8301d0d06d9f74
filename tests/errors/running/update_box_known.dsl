#! error E0601 3:7-3:8 "index 5 is out of range for length 3"
x = zeros(2, 3)
x[.., 5] = 1
