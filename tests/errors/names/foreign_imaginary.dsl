#! error E0201 2:10-2:11 "no `i`" hint "the imaginary unit is written with its number: 1im, 4im"
z = 3 + 4i
