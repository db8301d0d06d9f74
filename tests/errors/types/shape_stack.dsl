#! error E0302 2:10-2:19 "entries of [ ] must have one shape: i64[2] and i64[3]" second 2:2 "the first is i64[2]"
[[1, 2], [1, 2, 3]]
