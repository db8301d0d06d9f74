#! error E0605 2:1-2:24 "plot: x has 2 samples and y has 3"
plot([1, 2], [1, 2, 3])
