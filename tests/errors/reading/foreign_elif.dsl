#! error E0104 3:6-3:7 "expected the end of the statement, found `x`" hint "write `else if`"
x = 1
elif x
