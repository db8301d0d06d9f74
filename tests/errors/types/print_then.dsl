#! error E0301 2:5-2:17 "`+` has no meaning for none and i64"
x = print(3) + 1
