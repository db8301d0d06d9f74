#! error E0204 3:1-3:4 "this is i64, not a function" hint "x[i] takes an element; a product is written with *"
sum = 3
sum([1, 2])
