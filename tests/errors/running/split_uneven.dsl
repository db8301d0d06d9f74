#! error E0605 2:1-2:20 "3 elements do not split into 2 equal parts"
split([1, 2, 3], 2)
