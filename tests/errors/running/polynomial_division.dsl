#! error E0605 2:1 "polydiv: the leading coefficient of the divisor is 0"
polydiv([1.0, 2], [1.0, 0])
