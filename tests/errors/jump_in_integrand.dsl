#! error E0401 2:59-2:72 "the integrand may jump here, at a place that moves with what the integral is differentiated by"
f(p) = integrate(x -> { s = 0.0; for k in 0..20 { s += if x < p + k/100 { 1.0 } else { 2.0 } }; s }, 0, 1)
f'(0.4)
