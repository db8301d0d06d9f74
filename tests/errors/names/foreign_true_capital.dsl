#! error E0201 2:5-2:9 "no `True`" hint "the truth values are written true and false"
x = True
