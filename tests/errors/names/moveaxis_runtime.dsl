#! error E0210 3:63-3:64 "an axis must be known before the program runs"
k = [0, 1]
f(i) = { n = 0; while n < i { n += 1 }; moveaxis(zeros(2, 3), n, 0) }
f(1)
