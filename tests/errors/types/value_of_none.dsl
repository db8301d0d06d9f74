#! error E0301 3:1-3:9 "`+` has no meaning for none and i64"
f(x) = { x = x + 1 }
f(1) + 1
