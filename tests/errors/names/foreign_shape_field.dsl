#! error E0205 3:3-3:8 "no field `shape`: this is i64[2]" hint "functions stand before their arguments: shape(x)"
x = [1, 2]
x.shape
