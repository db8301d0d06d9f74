#! error E0301 3:13-3:21 "this IR was made for f64[_], and f64[21] is given"
p = ir((a, b) -> a + b, ones(20), ones(20))
p(ones(20), ones(21))
