#! error E0201 3:3-3:6 "no `end`" hint "the last element is x[-1], a part up to the end x[a..]"
x = [1, 2, 3]
x[end]
