#! error E0301 3:1-3:5 "record (times: f64[2], n: i64) cannot be indexed" hint "its fields are taken by name: .times or .n"
r = (times = [1.0, 2], n = 2)
r[0]
