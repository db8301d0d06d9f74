#! error E0302 2:30-2:39 "`map` runs over arrays of one length: the first has 2, this is i64[3]"
map((x, y) -> x + y, [1, 2], [1, 2, 3])
