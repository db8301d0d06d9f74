#! error E0403 2:16-2:21 "there is no derivative with respect to a string" hint "real and complex arrays, and records, tuples and lists of them, have derivatives"
grad(s -> 1.0)("abc")
