#! error E0302 4:23-4:27 "the index `j` runs over lengths that differ: this is axis 0 of i64[3]" second 4:13 "here it indexes i64[2, 2]"
A = [1, 2; 3, 4]
v = [1, 2, 3]
w[i] := sum(A[i, j] * v[j] for j)
