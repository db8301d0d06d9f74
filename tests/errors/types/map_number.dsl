#! error E0303 2:10-2:11 "`map` runs over rows, and i64 has none"
map(sin, 3)
