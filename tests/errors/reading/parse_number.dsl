#! error E0102 2:5-2:10 "`1.2.3` is not a number" hint "numbers look like 12, 1_000, 1.5, 1e-3, 0xff, 0b101 or 2im"
x = 1.2.3
