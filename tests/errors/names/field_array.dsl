#! error E0205 3:3-3:9 "no field `length`: this is i64[2]"
x = [1, 2]
x.length
