#! error E0204 2:6-2:7 "`grad` takes a function, not i64"
grad(3)
