#! error E0104 2:6-2:7 "expected the end of the statement, found `:`" hint "a range is written a..b; the end b is left out"
x = 1:10
