#! error E0202 3:12-3:13 "`area` takes 2 arguments, and 3 are given" second 2:1 "defined here"
area(w, h) = w * h
area(1, 2, 3)
