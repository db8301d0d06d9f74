#! error E0209 3:11-3:14 "with a shifted index the range of `i` must be said" hint "write `for i in a..b`"
u = [1, 2, 3]
L[i] := u[i+1] - u[i]
