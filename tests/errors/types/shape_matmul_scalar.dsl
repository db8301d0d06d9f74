#! error E0303 3:1-3:6 "@ multiplies vectors and matrices, not i64[2, 2] by i64" hint "write * for a product with a number"
W = [1, 2; 3, 4]
W @ 2
