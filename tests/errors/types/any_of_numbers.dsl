#! error E0301 2:11 "`any` takes conditions, not f64[2]"
print(any(x for x in [0.5, 0.0]))
