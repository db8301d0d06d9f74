#! error E0204 3:1-3:2 "this is i64, not a function" hint "x[i] takes an element; a product is written with *"
x = 3
x(2)
