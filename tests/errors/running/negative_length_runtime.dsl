#! error E0608 2:8-2:16 "a length cannot be negative: -3"
f(n) = zeros(n)
f(2 - 5)
