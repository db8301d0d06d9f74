#! error E0205 2:11-2:31 "no field `b` in record (a: i64)"
f(name) = field((a = 1), name)
f("b")
