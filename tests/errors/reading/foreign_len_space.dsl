#! error E0104 3:5-3:6 "expected the end of the statement, found `x`" hint "a call is written len(...), a product with `*`"
x = [1, 2]
len x
