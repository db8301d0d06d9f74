#! error E0303 2:1-2:9 "this takes a matrix, not i64"
solve(3)
