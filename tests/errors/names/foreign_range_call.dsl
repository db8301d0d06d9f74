#! error E0201 2:5-2:10 "no `range`" hint "a range is written a..b, or a..b by s; its end is left out"
x = range(3)
