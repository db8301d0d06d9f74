#! error E0605 2:1-2:17 "a jet takes its directions as a tuple (d1, d2, ...)"
jet(sin, 0.0, 3)
