#! error E0301 3:12-3:31 "the rule for `sin` gives f64[2], where f64 was"
p = ir(sin, 2.0)
rewrite(p, (sin = x -> [x, x]))
