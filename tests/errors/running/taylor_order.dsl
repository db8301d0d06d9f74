#! error E0608 2:1-2:22 "Taylor series go up to order 63, not 100"
taylor(sin, 0.0, 100)
