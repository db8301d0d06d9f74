#! error E0601 3:3-3:7 "the end 7 of this slice is out of range for length 3"
x = [1, 2, 3]
x[1..7]
