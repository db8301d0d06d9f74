#! error E0209 4:17-4:18 "the index `j` stands on the right only" hint "write sum(... for j)"
A = [1, 2; 3, 4]
B = [1, 2; 3, 4]
C[i, k] := A[i, j] * B[j, k]
