#! error E0204 3:1-3:2 "this is i64[3], not a function" second 2:1 "i64[3] came from here" hint "x[i] takes an element; a product is written with *"
x = [1, 2, 3]
x(1)
