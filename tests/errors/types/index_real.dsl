#! error E0301 3:3-3:6 "an index is an integer, a range, or an array of them, not f64" hint "`//` divides integers and gives one; i64(x) makes one of a real number"
x = [1, 2, 3]
x[1.5]
