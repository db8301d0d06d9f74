#! error E0303 2:5-2:11 "`svd` takes a matrix, not i64[2]"
svd([1, 2])
