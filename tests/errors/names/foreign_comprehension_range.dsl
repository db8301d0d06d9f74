#! error E0201 2:17-2:22 "no `range`" hint "a range is written a..b, or a..b by s; its end is left out"
x = [i for i in range(10)]
