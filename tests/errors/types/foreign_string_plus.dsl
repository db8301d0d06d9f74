#! error E0301 2:5-2:12 "`+` has no meaning for a string and i64" hint "a value is put into a string as in \"x is {x}\", or {x:.3f} with a format"
x = "a" + 1
