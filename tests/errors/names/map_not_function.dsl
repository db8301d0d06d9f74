#! error E0204 2:5-2:6 "`map` takes a function, not i64"
map(3, [1, 2])
