#! error E0104 2:9-2:11 "`++` is not an operator here" hint "write `x += 1`"
a = 1; a++
