# Nonlinear equations by KINSOL. Oracles: the library's Newton method, closed
# forms and finite differences.

# a circle and a line: every strategy with every kind of linear system
two(x) = [x[0]^2 + x[1]^2 - 1, x[0] - x[1]]
for s in list("newton", "linesearch", "picard") {
  for l in list("dense", "sparse", "krylov") { print(s, l, max(abs(root(two, [1.0, 0.5], kinsol(strategy = s, linear = l)) - 1 / √2)) < 1e-11) }
}
#> newton dense true
#> newton sparse true
#> newton krylov true
#> linesearch dense true
#> linesearch sparse true
#> linesearch krylov true
#> picard dense true
#> picard sparse true
#> picard krylov true
root(two, [1.0, 0.5], kinsol(strategy = "picard", L = [1.5, 1.5; 1, -1], memory = 0))      #~ [1, 1] / √2 tol 1e-11
root(two, [1.0, 0.5], kinsol(strategy = "newton", hold = 5))         #~ [1, 1] / √2 tol 1e-11
# the line search converges where full steps do not
root(x -> atan(x), [2.0], kinsol())  #~ [0] tol 1e-11
try { str(root(x -> atan(x), [2.0], kinsol(strategy = "newton"))) } catch m { contains(m, "no zero found") }       #> true
# a record; unknowns of different scales
r = root(v -> (a = v.a^2 - [4.0, 9], b = v.b - sum(v.a)), (a = [1.0, 1], b = 0.0), kinsol());
(r.a, r.b)   #~ ([2, 3], 5)
root(x -> [1e-8 * x[0] - 3, x[1]^3 - 8], [1.0, 1], kinsol(scale_x = [1e-8, 1.0]))  #~ [3e8, 2] tol 1e-8

# Bratu's problem in one dimension, u'' + p exp(u) = 0: u = -2 log(cosh((x -
# 1/2) θ/2) / cosh(θ/4)), θ = √(2p) cosh(θ/4).
bratu(p, n) = u -> concat(u[1..], [0]) - 2u + concat([0], u[..-1]) + p * exp(u) / (n + 1)^2
θ = root(θ -> θ - √2 * cosh(θ / 4), 1.5)
top = -2 * log(1 / cosh(θ / 4))
solved(p, n, m) = root(bratu(p, n), zeros(n), m)
max(solved(1.0, 999, kinsol(linear = "sparse")))     #~ top tol 1e-7
max(solved(1.0, 9999, kinsol(linear = "sparse")))    #~ top tol 1e-7
max(solved(1.0, 199, kinsol(linear = "sparse", strategy = "picard", hold = 100)))    #~ max(solved(1.0, 199, none)) tol 1e-7
max(solved(1.0, 49, kinsol(linear = "krylov")))      #~ max(solved(1.0, 49, none)) tol 1e-9
# two dimensions: five points, a sparse matrix of 900 rows
square(p) = v -> {
  U = reshape(v, 30, 30)
  Z = zeros(1, 30)
  ravel(concat(U[1..], Z) + concat(Z, U[..-1]) + concat(U[.., 1..], Z'; axis = 1) + concat(Z', U[.., ..-1]; axis = 1) - 4U +
    p * exp(U) / 31^2)
}
u = root(square(5.0), zeros(900), kinsol(linear = "sparse"));
max(abs(square(5.0)(u))) < 1e-12     #> true
root(square(5.0), zeros(900), kinsol(linear = "krylov"))     #~ u tol 1e-9

# Derivatives by the implicit function theorem, with the same linear systems.
# Oracle: the library's Newton method.
for l in list("dense", "sparse", "krylov") {
  g(p) = sum(solved(p, 40, kinsol(linear = l)))
  h(p) = sum(solved(p, 40, none))
  print(l, abs(g'(1.0) - h'(1.0)) < 1e-8, abs(grad(g)(1.0) - h'(1.0)) < 1e-8, abs(g''(1.0) - h''(1.0)) < 1e-6,
    abs(g'(1.0) - (g(1.0001) - g(0.9999)) / 2e-4) < 1e-6)
}
#> dense true true true true
#> sparse true true true true
#> krylov true true true true

# fixed points, with and without acceleration
fixed_point(cos, [1.0, 2.0], kinsol())       #~ fixed_point(cos, [1.0, 2.0]) tol 1e-11
fixed_point(x -> [cos(x[1]), 0.5 * sin(x[0])], [1.0, 1.0], kinsol(memory = 0, tol = 1e-13))  #~ fixed_point(x -> [cos(x[1]), 0.5 * sin(x[0])], [1.0, 1.0]) tol 1e-11
kepler(e) = fixed_point(E -> 1 + e * sin(E), 1.0, kinsol())
kepler'(0.3) #~ (e -> root(E -> E - e * sin(E) - 1, 1.0))'(0.3) tol 1e-9
for l in list("dense", "sparse", "krylov") {
  G(p) = sum(fixed_point(x -> p * cos(x) + 0.1 * concat(x[1..], x[..1]), zeros(20), kinsol(linear = l)))
  print(abs(G'(0.5) - (G(0.5001) - G(0.4999)) / 2e-4) < 1e-6, abs(grad(G)(0.5) - G'(0.5)) < 1e-8)
}
#> true true
#> true true
#> true true
# the fold of a curve where Newton's method fails, and continuation past it
turn(x, p) = [p - exp(-x[0]) * x[0]]
try { str(root(x -> turn(x, 0.5), [0.9], kinsol())) } catch m { contains(m, "no zero found") }     #> true
c = follow(turn, [0.1], 0.1 * exp(-0.1); step = 0.02, most = 0.1, steps = 80);
max(c.p)     #~ exp(-1) tol 1e-2
max(c.x) > 2 #> true
# batched
map(p -> root(x -> [x[0]^2 - p, x[1] - x[0]], [1.0, 1.0], kinsol()), [4.0, 9, 16])         #~ [2, 2; 3, 3; 4, 4]

# A change of sign is no zero where f jumps or has a pole.
refused(f) = try { f(); "found" } catch m { m }
contains(refused(() -> root(x -> 1 / (x - 0.7), (0.0, 2.0))), "pole")        #> true
contains(refused(() -> root(x -> 1 / (x - 0.7)^3, (0.0, 2.0))), "pole")      #> true
contains(refused(() -> root(x -> 1 / (x - 0.7), 0.0)), "pole") #> true
contains(refused(() -> root(tan, (1.0, 2.0))), "pole")         #> true
contains(refused(() -> root(x -> if x < 0.7 { -1.0 } else { 1.0 }, (0.0, 2.0))), "jump")        #> true
root(x -> exp(x) - 1e-5, (-100.0, 2.0))       #~ log(1e-5)
root(x -> (x - 0.7)^3, (0.0, 2.0))            #~ 0.7 tol 1e-12
root(x -> cbrt(x - 0.7), (0.0, 2.0))          #~ 0.7
root(x -> 1e300 * (x - 0.7), (0.0, 2.0))      #~ 0.7
# small zeros are as accurate as large ones
root(x -> x^3 - 1e-60, 1e-10) / 1e-20         #~ 1 tol 1e-12
root(x -> [x[0]^2 - 1e-40, x[1] - x[0]], [1e-10, 0]) / 1e-20   #~ [1, 1] tol 1e-10
fixed_point(x -> 0.5 * x + 0.5e-20, 0.0) / 1e-20       #~ 1 tol 1e-12
contains(refused(() -> root(x -> x - 3, (0.0, inf))), "finite")        #> true
# An end that is almost a zero, a bracket of the width of rounding, a jump
# between values of different magnitude.
root(x -> x - 1 - 1e-17, (1.0, 2.0))          #~ 1
root(x -> x^2 - 2, (sqrt(2.0) - 4e-16, sqrt(2.0) + 4e-16))     #~ sqrt(2)
contains(refused(() -> root(x -> if x < 0.7 { -1e-3 } else { 100.0 }, (0.0, 2.0))), "jump")   #> true
