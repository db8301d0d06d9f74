#! error E0205 3:3-3:4 "no field `T`: this is f64[3, 3]" hint "the transpose is written A'"
A = eye(3)
A.T
