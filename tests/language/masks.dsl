# x[mask] on both sides. The assigned value is a scalar, has one element for
# each selected one, or has the whole shape.
x = [1.0, 2, -3, 4]
x[x > 0] *= 2
x                    #> [2, 4, -3, 8]
x[x > 0] /= 2
x                    #> [1, 2, -3, 4]
x[x > 0] -= [1.0, 1, 1]
x                    #> [0, 1, -3, 3]
x[x < 1] = [5.0, 7]
x                    #> [5, 1, 7, 3]
x[x > 2] = [10.0, 20, 30, 40]
x                    #> [10, 1, 30, 40]
x[x > 100] = zeros(0)
x                    #> [10, 1, 30, 40]
x[x > 0] ^= 2
x                    #> [100, 1, 900, 1600]
k = [7, 8, 9]
k[k != 8] //= [2, 3]
k                    #> [3, 8, 3]
k[k == 3] %= 2
k                    #> [1, 8, 1]
A = [1.0, 2; -3, 4]
A[A > 1] = [5.0, 6]
A                    #> [[1, 5], [-3, 6]]
A[A > 1] *= [10.0, 20]
A                    #> [[1, 50], [-3, 120]]
A[A > 1] = [1.0, 2; 3, 4]
A                    #> [[1, 2], [-3, 4]]
A[[false, true]] = [7.0, 8]
A                    #> [[1, 2], [7, 8]]
A[[false, true]]     #> [[7, 8]]
A[[false, true]] += 1
A                    #> [[1, 2], [8, 9]]
A[[true, false]] = [3.0, 4; 5, 6]
A                    #> [[3, 4], [8, 9]]
A[[false, true]] *= [2.0, 3]
A                    #> [[3, 4], [16, 27]]
A[[true, false], ..] = 0
A                    #> [[0, 0], [16, 27]]
A[[true, true]] = [1.0, 2; 3, 4]
A                    #> [[1, 2], [3, 4]]
T = reshape(iota(8), 2, 2, 2)
T[[true, false; true, true]] #> [[0, 1], [4, 5], [6, 7]]
T[[true, false; true, true]] = [1, 1; 2, 2; 3, 3]
T                    #> [[[1, 1], [2, 3]], [[2, 2], [3, 3]]]
T[[false, false; true, false]] = [8, 9]
T                    #> [[[1, 1], [2, 3]], [[8, 9], [3, 3]]]
f(x, v) = { x[x > 0] = v; x }
f([1.0, -1, 2], [5.0, 6])       #> [5, -1, 6]
f([1.0, -1, 2], [5.0, 6, 7])    #> [5, -1, 7]
f(linspace(-1, 1, 21), iota(10) + 0.0)[11..]  #~ iota(10)
f(linspace(-1, 1, 21), iota(21) + 0.0)[11..]  #~ iota(10) + 11
g(x) = { x[x > 0] *= x[x > 0]; sum(x) }
grad(g)([1.0, -1, 2])           #> [2, 1, 4]
h(x, v) = { x[x > 0] = v^2; sum(x^2) }
grad(h, 1)([1.0, -1, 2], [2.0, 3])  #> [32, 108]
grad(h, 0)([1.0, -1, 2], [2.0, 3])  #> [0, -2, 0]
map(x -> { x[x > 0] *= 2; x }, [1.0, -1; -2, -3])   #> [[2, -1], [-2, -3]]
map(x -> { x[x > 0] = x[x > 0]^2 ; x }, [3.0, -1; -2, -3])   #> [[9, -1], [-2, -3]]
r = (x = [1.0, -2], y = 1)
r.x[r.x > 0] *= 5
r.x                             #> [5, -2]
r.x[[0, 0]] += 1.0
r.x                             #> [7, -2]
z(x) = { x[x != 0] = 1 / x[x != 0]; sum(x) }
grad(z)([0.0, 2])              #> [1, -0.25]
loop(x) = { for i in 0..3 { x[x < 10] *= 2 }; x }
loop([1.0, 4, 20])             #> [8, 16, 20]

# Oracle: equivalent programs without masks.
x0 = sin(1.0 + iota(40))
taken(x, v) = { x[x > 0] = v; x }
chosen(x, v) = where(x > 0, v, x)
n = sum(x0 > 0)
taken(x0, iota(40) + 0.0)       #~ chosen(x0, iota(40) + 0.0)
taken(x0, cumsum(ones(n)))      #~ chosen(x0, f64(cumsum(i64(x0 > 0))))
scaled(x, v) = { x[x > 0] *= v; sum(x^2) }
v0 = cos(f64(iota(n)))
grad(scaled, 1)(x0, v0)         #~ 2x0[x0 > 0]^2 * v0 tol 1e-14
grad(scaled)(x0, v0)[x0 > 0]    #~ 2x0[x0 > 0] * v0^2 tol 1e-14
jvp(v -> scaled(x0, v), v0, v0)[1]   #~ 2sum((x0[x0 > 0] * v0)^2) tol 1e-13
hessian(v -> scaled(x0, v))(v0)[1, 1]   #~ 2x0[x0 > 0][1]^2 tol 1e-14
map(x -> taken(x, iota(40) + 0.0), stack(x0, -x0))[1]   #~ chosen(-x0, iota(40) + 0.0)
