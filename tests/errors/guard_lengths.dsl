#! error E0602 2:11-2:16 "cannot add i64[n0] and i64[n1]: n0 = 20 and n1 = 30 differ" second 3:1 "n0 = 20 is from here"
f(x, y) = x + y
f(iota(20), iota(30))
