#! error E0107 2:1-2:8 "this cannot be assigned to" hint "a target is a name, x[i], r.field or a tuple of them; to compare, write `==`"
f(x)[0] = 3
