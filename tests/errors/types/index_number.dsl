#! error E0303 3:1-3:5 "a single number has no elements to index: this is i64"
x = 3
x[0]
