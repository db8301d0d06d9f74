#! error E0204 4:1-4:4 "this is i64, not a function" hint "x[i] takes an element; a product is written with *"
pi = 3
sin = 4
sin(2)
