#! error E0302 2:1-2:35 "cannot choose between bool[2] and i64[3]"
where([true, false], [1, 2, 3], 0)
