#! error E0602 2:11-2:16 "cannot add i64[len(x)] and i64[len(y)]: len(x) = 20 and len(y) = 30 differ" second 3:3 "len(x) = 20 is from here"
f(x, y) = x + y
f(iota(20), iota(30))
