#! error E0605 2:1 "choice without replacement: there are 2 rows, not 3"
choice([1, 2], 3; replace = false)
