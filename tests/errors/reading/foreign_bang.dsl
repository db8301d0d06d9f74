#! error E0104 2:5-2:6 "`!` is not an operator here" hint "write `not`"
a = !true
