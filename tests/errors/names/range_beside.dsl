#! error E0209 "the range of `j` depends on the index `i`, which stands beside it"
i = 2
[i * j for i in 0..3, j in 0..i]
