#! error E0608 2:1-2:14 "the largest element of nothing"
max(zeros(0))
