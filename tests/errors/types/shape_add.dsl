#! error E0302 4:5-4:10 "cannot add i64[3] and i64[2]" second 2:1 "i64[3] came from here"
x = [1, 2, 3]
y = [1, 2]
z = x + y
