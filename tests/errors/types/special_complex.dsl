#! error E0306 2:1 "`besselj` takes real numbers, not c128" hint "real(z), imag(z) or abs(z)"
besselj(0, 1im)
