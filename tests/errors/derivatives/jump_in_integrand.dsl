#! error E0401 2:65-2:74 "the integrand may jump here, at a place that moves with what the integral is differentiated by"
f(p) = integrate(x -> { s = 0.0; k = 0.0; while k < x { s += if x < p + k { 1.0 } else { 2.0 }; k = k + 0.3 }; s }, 0, 1)
f'(0.4)
