#! error E0301 2:1-2:18 "cannot order record (a: i64) and record (a: i64)"
(a = 1) < (a = 2)
