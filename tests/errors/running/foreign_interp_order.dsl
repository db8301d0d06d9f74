#! error E0605 2:1 "interp takes a place and then the table: interp(x, xs, ys)"
interp([1, 2], [1, 2], 1.5)
