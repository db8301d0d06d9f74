#! error E0208 2:6-2:7 "the index `i` stands twice on the left"
C[i, i] := 1 for i in 0..3
