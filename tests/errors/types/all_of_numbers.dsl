#! error E0301 2:11 "`all` takes conditions, not f64"
print(all(x for x in (1.0, 2.0)))
