#! error E0306 2:5-2:8 "a complex number does not become f64" hint "real(z) or abs(z)"
f64(1im)
