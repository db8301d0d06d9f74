#! error E0603 6:5-6:10 "10 ^ 19 does not fit in an integer of type i64" hint "real numbers reach further: 10.0 ^ 19"
# The end of the integers: these do fit.
a = 2^62 + (2^62 - 1)
b = (-2)^63
c = 1^(10^18) + (-1)^(10^18 + 1) + 0^(10^18)
d = 10^19
