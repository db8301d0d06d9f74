#! error E0201 2:1-2:6 "no `fzero`" hint "a zero is found by root(f, x0)"
fzero(x -> x - 1, 0)
