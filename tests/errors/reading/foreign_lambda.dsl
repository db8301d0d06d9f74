#! error E0104 2:12-2:13 "expected the end of the statement, found `x`" hint "a function without a name is written x -> ..."
f = lambda x: x + 1
