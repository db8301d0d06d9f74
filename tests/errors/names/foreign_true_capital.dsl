#! error E0201 2:5-2:9 "no `True`" hint "the booleans are written true and false"
x = True
