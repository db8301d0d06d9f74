#! error E0605 2:1 "gcd takes whole numbers"
gcd(1.5, 2)
