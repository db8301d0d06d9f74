#! error E0201 2:1 "no `hcat`" hint "arrays are joined by concat(a, b; axis = 1)"
hcat([1], [2])
