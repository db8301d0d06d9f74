#! error E0605 2:1 "gcd takes integers"
gcd(1.5, 2)
