#! error E0209 3:37-3:38 "nothing says how far the index `j` runs" hint "write `for j in a..b`"
v = [1, 2, 3]
total = sum((v -> v[j])([5, 6]) for j)
