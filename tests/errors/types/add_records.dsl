#! error E0301 2:1-2:18 "`+` needs records of the same fields, not record (a: i64) and record (b: i64)"
(a = 1) + (b = 2)
