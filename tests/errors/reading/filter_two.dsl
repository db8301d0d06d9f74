#! error E0104 2:36-2:41 "a filter goes with one index"
[i + j for i in 0..3, j in 0..3 if i > j]
