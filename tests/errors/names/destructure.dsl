#! error E0202 2:1-2:19 "3 values for 2 names"
(a, b) = (1, 2, 3)
