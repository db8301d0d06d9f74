# a loop that ends by what moves, whose result jumps there
#! error E0401 3:36-3:73 "the integrand may jump here, at a place that moves" hint "split the integral"
by_turns(x, a) = { s = 1.0; e = a; while x > e { s = s + 9; e = e + 10 }; s }
area(a) = integrate(x -> by_turns(x, a), 0, 1)
area'(0.3)
