# The range of an index follows from its own uses, not from those of an inner
# index of the same name.
A = [1, 2; 3, 4; 5, 6]
[([sum(A[i, j] for j) for i])[j] for j]             #> [3, 7, 11]
M = [1; 2; 3]
[([sum(M[i, k] for k) for i])[k] for k]             #> [1, 2, 3]
b = [10, 20]
[(map(i -> b[i], [0, 1, 1]))[i] for i]              #> [10, 20, 20]
a = [1, 2, 3]
sum(a[i] * sum(b[i] for i) for i)                   #> 180
[a[i] + { s = 0; for i in 0..2 { s += b[i] }; s } for i]     #> [31, 32, 33]
[a[i] + { i = 1; b[i] } for i]                      #> [21, 22, 23]
sum(a[i] * (i -> b[i])(0) for i)                    #> 60
[a[i] * sum(b[i] for i in 0..2) for i]              #> [30, 60, 90]
[sum(b[i] for i) + 0 * i for i in 0..3]             #> [30, 30, 30]
[sum(b[j] * (i -> i + 1)(j) for j) for i in 0..2]   #> [50, 50]
[a[i] + { f(i) = b[i]; f(0) } for i]                #> [11, 12, 13]
[(i -> (j -> b[j])(i - i))(i) + a[i] for i]         #> [11, 12, 13]
T[i] := a[i] + sum(b[i] for i)
T                                                   #> [31, 32, 33]
U[k] := a[k] + (map(k -> b[k], [0, 1, 1]))[k]
U                                                   #> [11, 22, 23]

# Nor from an array that has its name only in an inner function.
v = [1, 2, 3]
sum((v -> v[j])([5.0, 6, 7]) + v[j] for j)          #> 24.0
sum((v -> sum(v[j] for j))([5.0, 6, 7, 8] * i) for i in 0..2)   #> 26.0
[v[j] + { v = [7, 8, 9, 10]; v[j] } for j]          #> [8, 10, 12]
[v[j] * (for_all -> { v = for_all; v[j + 1] })([1, 2, 3, 4]) for j]   #> [2, 6, 12]
w(v, j) = v[j]
sum(w([4, 5, 6, 7], j) * v[j] for j)                #> 32
