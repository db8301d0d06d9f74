#! error E0301 2:10-2:13 "the ends of a range are integers, not f64" hint "linspace(a, b, n) makes evenly spaced real numbers"
for i in 0.0..1.0 { print(i) }
