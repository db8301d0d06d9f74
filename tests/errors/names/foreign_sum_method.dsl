#! error E0205 3:3-3:6 "no field `sum`: this is i64[3]" hint "functions stand before their arguments: sum(x)"
x = [1, 2, 3]
x.sum()
