#! error E0302 3:1-3:26 "cannot write f64[2, 2, 2] through a mask of bool[2, 2] into f64[2, 2]"
A = [1.0, 2; 3, 4]
A[A > 1] = zeros(2, 2, 2)
