#! error E0107 3:1-3:4 "only a record has fields to set, and this is i64[3]"
x = [1, 2, 3]
x.a = 1
