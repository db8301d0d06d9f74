#! error E0605 2:1-2:37 "curl is that of a field in three dimensions"
curl(x -> [x[1], -x[0]])([1.0, 2.0])
