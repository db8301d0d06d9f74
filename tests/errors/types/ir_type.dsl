#! error E0301 3:3-3:10 "this IR was made for f64[5], and f64[6] is given"
p = ir(x -> sum(sin(x)), ones(5))
p(ones(6))
