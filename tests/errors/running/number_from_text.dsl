#! error E0608 2:8-2:14 "cannot read"
f(s) = i64(s) + 1
f("12a")
