#! error E0304 3:3-3:15 "p is record (W: i64[2]), without the field `b`" second 2:6 "declared here"
f(p: (W: f64[n], b: f64)) = p.b
f((W = [1, 2]))
