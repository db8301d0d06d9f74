#! error E0107 2:1-2:2 "this cannot be assigned to" hint "a target is a name, x[i], r.field or a tuple of them; to compare, write `==`"
3 = x
