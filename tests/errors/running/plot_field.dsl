#! error E0605 2:1-2:44 "heatmap: z is 2 by 2, but x has 2 samples and y has 3"
heatmap([1.0, 2], [1.0, 2, 3], zeros(2, 2))
