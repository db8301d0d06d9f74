#! error E0601 3:3-3:5 "index -4 is out of range for length 3"
x = [1, 2, 3]
x[-4]
