#! error E0104 2:5-2:6 "expected the end of the statement, found `x`" hint "a name is given a value by `name = value`"
let x = 2
