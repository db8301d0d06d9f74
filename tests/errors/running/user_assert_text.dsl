#! error E0605 2:1-2:42 "one is not more than two"
assert(1 > 2, "one is not more than two")
