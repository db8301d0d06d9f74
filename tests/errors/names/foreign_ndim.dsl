#! error E0205 3:3-3:7 "no field `ndim`: this is i64[2]" hint "the number of axes is rank(x)"
x = [1, 2]
x.ndim
