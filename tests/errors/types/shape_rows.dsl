#! error E0302 2:12-2:13 "this row has 1 entry, the first has 2"
A = [1, 2; 3]
