#! error E0505 2:1 "spline has the ends"
spline([0, 1, 2], [0, 1, 2]; ends = "loose")
