#! error E0608 2:11-2:18 "a slice needs a step other than 0"
[1, 2, 3][.. by 0]
