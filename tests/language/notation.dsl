# Index notation and comprehensions. Oracle: expected values.

A = [1.0, 2; 3, 4]
B = [5.0, 6; 7, 8]
v = [1.0, 2, 3, 4]
C[i, k] := sum(A[i, j] * B[j, k] for j)
C                            #> [[19, 22], [43, 50]]
D[i, k] := A[i, k] + B[k, i]
D                            #> [[6, 9], [9, 12]]
T[j, i] := A[i, j]
T                            #> [[1, 3], [2, 4]]
d[i] := A[i, i]
d                            #> [1, 4]
L[i] := v[i + 1] - 2v[i] + v[i - 1] for i in 1..3
L                            #> [0, 0]
S[i] := v[i]^2
S                            #> [1, 4, 9, 16]
I[i, j] := i == j for i in 0..2, j in 0..3
I                            #> [[true, false, false], [false, true, false]]
H[i, j] := 1 / (i + j + 1) for i in 0..2, j in 0..2
H                            #~ [1, 1/2; 1/2, 1/3]
O[i, j] := v[i] * v[j]
O[3, 2]                      #> 12.0
R[i] := sum(A[i, j] for j)
R                            #> [3, 7]
P[i] := sum(A[i, j] * A[i, j] for j)
P                            #> [5, 25]
Q[i, j, k] := A[i, j] * B[j, k]
shape(Q)                     #> (2, 2, 2)
Q[1, 0, 1]                   #> 18.0
Z[i] := sin(v[i]) * exp(-v[i])
Z                            #~ sin(v) * exp(-v)
W[i] := max(v[i], 2.5)
W                            #> [2.5, 2.5, 3, 4]
U[i] := v[3 - i] for i in 0..4
U                            #> [4, 3, 2, 1]
E[i] := v[2i] for i in 0..2
E                            #> [1, 3]
G[i] := v[(i + 1) % 4] for i in 0..4
G                            #> [2, 3, 4, 1]
K[i] := if v[i] > 2 { v[i] } else { 0.0 }
K                            #> [0, 0, 3, 4]
idx = [2, 0, 1]
M[i] := v[idx[i]]
M                            #> [3, 1, 2]
N[i, j] := A[i, j] - R[i]
N                            #> [[-2, -1], [-4, -3]]
f(x) = x^2 + 1
F[i] := f(v[i])
F                            #> [2, 5, 10, 17]
X[i] := v[i] for i in 1..4 by 2
X                            #> [2, 4]
Y[i] := 3.0 for i in 0..3
Y                            #> [3, 3, 3]

# Contractions become one `dot`, for any order of the indices.
mm(A, B) = { C[i, k] := sum(A[i, j] * B[j, k] for j); C }
mm(A, B)                     #> [[19, 22], [43, 50]]
mt(A, B) = { C[i, k] := sum(A[j, i] * B[k, j] for j); C }
mt(A, B)                     #> [[23, 31], [34, 46]]
three(A, B, v) = { r[i] := sum(A[i, j] * B[j, k] * v[k] for j, k); r }
three(A, B, [1.0, 2])        #> [63, 143]
bilinear(A, x, y) = sum(x[i] * A[i, j] * y[j] for i, j)
bilinear(A, [1.0, 2], [3.0, 4])      #> 61.0
trace2(A) = sum(A[i, i] for i)
trace2(A)                    #> 5.0
frob(A) = sum(A[i, j]^2 for i, j)
frob(A)                      #> 30.0

# Reductions over generators.
sum(v[i] for i)              #> 10.0
sum(v[i] * v[i] for i)       #> 30.0
prod(v[i] for i)             #> 24.0
max(abs(v[i] - 2) for i)     #> 2.0
min(v[i]^2 for i)            #> 1.0
any(v[i] > 3 for i)          #> true
all(v[i] > 3 for i)          #> false
sum(i^2 for i in 0..5)       #> 30
sum(i * j for i in 0..3, j in 0..3)  #> 9
sum(1 for i in 0..7)         #> 7
sum(v[i] for i if v[i] > 1.5)        #> 9.0
max(v[i] for i if v[i] < 3)  #> 2.0
sum(2.0 * i for i in 0..4)   #> 12.0
sum(x^2 for x in [1, 2, 3])  #> 14
sum(A[0, j] for j)           #> 3.0
sum(sum(A[i, j] for j)^2 for i)      #> 58.0
max(sum(A[i, j] for j) for i)        #> 7.0
sum(sin(i / 10) for i in 0..10)      #~ sum(sin(iota(10) / 10))

# Comprehensions.
[i^2 for i in 0..5]          #> [0, 1, 4, 9, 16]
[v[i] + 1 for i]             #> [2, 3, 4, 5]
[i + 10j for i in 0..2, j in 0..3]   #> [[0, 10, 20], [1, 11, 21]]
[A[i, j] for j, i]           #> [[1, 3], [2, 4]]
[i for i in 0..10 if i % 3 == 0]     #> [0, 3, 6, 9]
[x * 2 for x in [1, 2, 3]]   #> [2, 4, 6]
[x * 2 for x in (1, 2, 3)]   #> [2, 4, 6]
[len(s) for s in ("a", "bcd")]       #> [1, 3]
["{x}!" for x in (1, 2)]     #> list("1!", "2!")
[a + b for (a, b) in ((1, 2), (3, 4))]       #> [3, 7]
[[j for j in 0..3] for i in 0..2]    #> [[0, 1, 2], [0, 1, 2]]
[[i + j for j in 0..2] for i in 0..2]        #> [[0, 1], [1, 2]]
[i > 1 for i in 0..3]        #> [false, false, true]
[f(x) for x in linspace(0, 1, 3)]    #> [1, 1.25, 2]
[i for i in 0..0]            #> []
fact(n) = prod(k for k in 1..n + 1)
[fact(n) for n in (1, 2, 3, 4)]      #> [1, 2, 6, 24]
hilbert(n) = [1 / (i + j + 1) for i in 0..n, j in 0..n]
hilbert(2)                   #~ [1, 1/2; 1/2, 1/3]
shape(hilbert(30))           #> (30, 30)
second(u, n) = { r[i] := u[i + 1] - 2u[i] + u[i - 1] for i in 1..n - 1; r }
second([0, 1, 4, 9, 16], 5)  #> [2, 2, 2]
laplace(u) = { n = len(u); r[i, j] := u[i+1, j] + u[i-1, j] + u[i, j+1] + u[i, j-1] - 4u[i, j] for i in 1..n-1, j in 1..n-1; r }
laplace([0, 0, 0; 0, 1, 0; 0, 0, 0]) #> [[-4]]
n = 5
total(u) = sum(u[i] * u[i + 1] for i in 0..len(u) - 1)
total([1, 2, 3])             #> 8
total(ones(20))              #> 19.0

# Reductions over the items of a tuple or list: of no items as of an empty array,
# and the filter decides before an item is computed.
(all(x > 0 for x in ()), any(x > 0 for x in list()))     #> (true, false)
(all(x > 5 for x in (1, 2) if x > 3), any(x > 5 for x in (1, 2) if x > 3))   #> (true, false)
(sum(x for x in ()), prod(x for x in ()))                #> (0.0, 1.0)
try { max(x for x in ()) } catch m { m }                 #> the largest element of nothing
try { min(x for x in (1, 2) if x > 5) } catch m { m }    #> the smallest element of nothing
sum(1 / x for x in (0, 2) if x > 0)                      #> 0.5
sum(len(x) for x in (1.0, "ab") if kind(x) == "string")  #> 2
(any(x > 1 for x in (1, 2)), all(x > 1 for x in (1, 2))) #> (true, false)
