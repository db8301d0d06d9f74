#! error E0602 2:26-2:31 "sum(x > 2.5) = 1 differ" hint "an axis of length 1 is stretched where its length is known before"
f(x) = { y = x[x > 2.5]; x + y }
f([1.0, 2, 3])
