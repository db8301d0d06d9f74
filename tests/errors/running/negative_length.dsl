#! error E0608 2:7-2:9 "a length cannot be -3"
zeros(-3)
