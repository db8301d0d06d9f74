#! error E0301 2:13-2:23 "an axis must be an integer, not f64"
sum([1, 2]; axis = 0.5)
