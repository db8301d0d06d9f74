#! error E0104 2:10-2:12 "`&&` is not an operator here" hint "write `and`"
x = true && false
