#! error E0603 2:11-2:17 "integer division by zero"
f(a, b) = a // b
f(1, 0)
