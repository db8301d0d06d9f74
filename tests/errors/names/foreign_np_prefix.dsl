#! error E0201 2:1-2:3 "no `np`" hint "the names of the library need no prefix: sin(x), zeros(3)"
np.zeros(3)
