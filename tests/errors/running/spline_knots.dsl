#! error E0605 2:1 "spline: the knots must ascend"
spline([0, 1, 1], [0, 1, 2])
