#! error E0601 3:3-3:4 "index 5 is out of range for length 2"
t = (1, 2)
t[5]
