# x[a..b, c..d] = e and += e: updates of a box of an array, in all forms.

box(n) = { a = zeros(n, n); for i in 0..n { for j in 0..n { a[i, j] = 100i + j } }; a }
A = box(20)
B = A
B[1..-1, 1..-1] = -1
sum(B)                                  #~ sum(A[0]) + sum(A[-1]) + sum(A[1..-1, 0]) + sum(A[1..-1, -1]) - 18^2
B[0, 5]                                 #~ 5
B[5, 0]                                 #~ 500
B[1, 1]                                 #~ -1
B[18, 18]                               #~ -1
B[19, 19]                               #~ 1919
C = A
C[1..-1, 1..-1] += A[..-2, 1..-1] + A[2.., 1..-1]
C[7, 8]                                 #~ 3 * 708
C[0]                                    #~ A[0]

# The right-hand side is evaluated before the box changes.
u = f64(iota(30))
u[1..] += u[..-1]
u                                       #~ [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57]
u = f64(iota(30))
u[..-1] = u[1..]
u[-3..]                                 #> [28, 29, 29]
u = f64(iota(30))
u[1..] = u[..-1]
u[..4]                                  #> [0, 0, 1, 2]
u[.. by -1] = u
u[..3]                                  #> [28, 27, 26]
shift(u) = { u[1..] += u[..-1]; u }
shift(f64(iota(30)))[-1]                #~ 57
swap(u) = { u[..10], u[10..20] = (u[10..20], u[..10]); u }
swap(f64(iota(20)))[[0, 10]]            #> [10, 0]

# Steps, also negative ones.
s = zeros(25)
s[.. by 3] = 1
sum(s)                                  #~ 9
s[24..0 by -6] += [1, 2, 3, 4]
s[[24, 18, 12, 6, 0]]                   #> [2, 3, 4, 5, 1]
s[1..20 by 2] *= 2
s[19..1 by -2] -= iota(9)
s[[19, 17, 3, 1, 0]]                    #> [0, -1, -6, 0, 1]
D = zeros(20, 30)
D[.. by 2, 29..0 by -7] = [1, 2, 3, 4, 5]
D[4, [29, 22, 15, 8, 1, 0]]             #> [1, 2, 3, 4, 5, 0]
D[5, 29]                                #~ 0

# An empty box, the whole array, one element.
e = f64(iota(20))
e[5..5] = 7
e[20..] += 1
e[3..1] = 9
sum(e)                                  #~ 190
e[..] = 1
sum(e)                                  #~ 20
e[4..5] -= 3
e[3..6]                                 #> [1, -2, 1]
e[-1..] = 5
e[-2..]                                 #> [1, 5]
f = zeros(0)
f[..] = 1
len(f)                                  #~ 0

# Integers among the slices, known at specialisation or at run time.
A[0, 1..-1] = 7
A[0, ..3]                               #> [0, 7, 7]
A[-1, ..] = A[-2, ..]
A[-1, 4]                                #~ 1804
A[.., 0] = A[.., 1]
A[[0, 5, 19], 0]                        #> [7, 501, 1801]
A[.., -1] *= 2
A[3, 19]                                #~ 638
row(A, i) = { A[i, 1..-1] += 1000; A }
row(A, 3)[3, [0, 1, 18, 19]]            #> [301, 1301, 1318, 638]
row(A, -1)[19, 1]                       #~ 2801
column(A, j) = { A[2..4, j] = [-1, -2]; A }
column(A, 5)[1..5, 5]                   #> [105, -1, -2, 405]
whole(A, j) = { A[.., j] += A[.., j - 1]; A }
whole(A, 5)[2..4, 5]                    #> [409, 609]
T = zeros(6, 7, 8)
at(T, i, j, x) = { T[i, j, 2..5] = x; T[.., j, i] -= 1; T[i, .., j] *= 2; T }
R = at(T, 2, 3, [4, 5, 6])
R[2, 3, ..]                             #> [0, 0, 3, 10, 6, 0, 0, 0]
R[5, 3, 2]                              #~ -1
sum(R)                                  #~ 14
between(T, i, j, x) = { T[i, 1..3, j] = x; T }
sum(between(T, 1, 2, [1, 2]), axis = 1)[1, 2]   #~ 3
i32(R)[2, 3, 3]                         #~ 10

# Dtypes.
b = [true, false, true, false]
b[1..3] = [true, false]
b                                       #> [true, true, false, false]
z = zeros(4) + 0im
z[1..3] += 2im
z[1]                                    #~ 2im
q = f32(iota(40))
q[3..] -= q[..-3]
q[39]                                   #~ 3
k = iota(40)
k[..20] += k[20..]
k[5]                                    #~ 30

# In a loop: borders are set from the interior, and elements outside the box
# stay.
steps(u, n) = {
  for k in 0..n {
    u[1..-1, 1..-1] += 0.2(u[..-2, 1..-1] + u[2.., 1..-1] + u[1..-1, ..-2] + u[1..-1, 2..] - 4u[1..-1, 1..-1])
    u[0, ..] = u[1, ..]
    u[.., -1] = u[.., -2]
  }
  u
}
bars(u, n) = {
  for k in 0..n {
    v = zeros(20, 20)
    for i in 0..20 { for j in 0..20 { v[i, j] = u[i, j] } }
    for i in 1..19 { for j in 1..19 { v[i, j] = u[i, j] + 0.2(u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - 4u[i, j]) } }
    for j in 0..20 { v[0, j] = v[1, j] }
    for i in 0..20 { v[i, 19] = v[i, 18] }
    u = v
  }
  u
}
start = box(20) % 7
for n in (0, 1, 2, 5) { print(max(abs(steps(start, n) - bars(start, n))) < 1e-13) }
#> true
#> true
#> true
#> true
start[3, 4]                             #~ 3
partly(u, n) = { for k in 0..n { if k % 2 == 0 { u[2..7] = u[3..8] } else { u[10..] += 1 } }; u }
partly(f64(iota(20)), 3)[[2, 6, 9, 10]]       #> [4, 7, 9, 11]
both(u, n) = { v = u; for k in 0..n { u[1..] += v[..-1]; v[..-1] -= u[1..] }; [u[[0, 1, 2, 19]], v[[0, 1, 18, 19]]] }
both(f64(iota(20)), 2)                  #~ [[0, 0, 1, 18], [-1, -3, -37, 19]]
until(u) = { while sum(u) < 500 { u[3..-3] += 1; u[0] = sum(u[1..4]) }; u }
until(f64(iota(20)))[[0, 3, 19]]        #~ [27, 24, 19]
