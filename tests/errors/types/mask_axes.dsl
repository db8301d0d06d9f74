#! error E0303 3:3-3:8 "beside other indices a mask has one axis, not 2"
A = [1.0, 2; 3, 4]
A[A > 0, 0] = 1
