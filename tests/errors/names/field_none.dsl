#! error E0205 3:3-3:6 "no field `qqq` in record (width: i64, height: i64)"
p = (width = 1, height = 2)
p.qqq
