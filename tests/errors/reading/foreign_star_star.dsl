#! error E0104 2:7-2:9 "`**` is not an operator here" hint "write `^`"
x = 2 ** 3
