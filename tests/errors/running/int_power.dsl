#! error E0603 2:11-2:14 "an integer has no integer power -1" hint "make one of them a float"
f(a, b) = a^b
f(2, -1)
