#! error E0301 3:3-3:13 "this IR was made for a record of another form, and record (b: f64) is given"
p = ir(r -> r.a, (a = 1.0,))
p((b = 1.0,))
