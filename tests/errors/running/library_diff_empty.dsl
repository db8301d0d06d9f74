#! error E0605 2:1-2:15 "diff: 0 elements have no differences of order 1"
diff(zeros(0))
