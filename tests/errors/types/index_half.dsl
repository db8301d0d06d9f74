#! error E0301 3:18-3:21 "an index is an integer, a range, or an array of them, not f64" hint "`//` divides integers and gives one"
n = 4
[10, 20, 30, 40][n/2]
