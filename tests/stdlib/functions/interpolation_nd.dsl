# Interpolation in several variables, on grids and at scattered points. Oracles:
# SciPy (RegularGridInterpolator with "cubic_legacy", RBFInterpolator) and
# exactness.

x = [0, 0.5, 1.2, 2.0, 3.1]
y = [-1, 0, 0.4, 1.5, 2.0, 2.2]
z = [0, 1.0, 1.5, 3.0]
V = [sin(x[i]) * exp(-y[j]) + 0.1 * x[i] * y[j]^2 for i, j]
W = [sin(x[i]) * exp(-y[j]) * cos(z[k]) + 0.1 * x[i] * y[j]^2 * cos(z[k]) for i, j, k]
at = [0.3, 0.1; 2.7, 1.9; 1.1, -0.5; 3.0, 2.15; 0.01, 0.5]
f = grid_interpolant((x, y), V)
f(at)        #~ [0.26815258740254744, 1.042340344871565, 1.5063731544521632, 1.404584668330552, 0.0063708916661885445] tol 1e-13
interpn((x, y, z), W, [0.3, 0.1, 0.2; 2.7, 1.9, 2.9; 1.0, 1.0, 1.0]; method = "cubic")     #~ [0.26531076998173997, -1.0153850945751446, 0.22048294380901692] tol 1e-13
# In one direction, every method equals its 1-D function.
for m in list(("cubic", spline(x, sin(x))), ("pchip", pchip(x, sin(x))), ("akima", akima(x, sin(x)))) {
  g = grid_interpolant((x,), sin(x); method = m[0])
  print(max(abs(g([0.1; 1.3; 3.0]) - m[1].value([0.1, 1.3, 3.0]))) < 1e-15)
}
#> true
#> true
#> true
grid_interpolant((x,), sin(x); ends = "natural")([0.3; 2.2])   #~ spline(x, sin(x); ends = "natural").value([0.3, 2.2]) tol 1e-15
# The interpolant of a product is the product of the interpolants.
for m in list("cubic", "pchip", "akima") {
  h = grid_interpolant((x, y), outer(cos(x), exp(-y)); method = m)
  k = (a, v) -> grid_interpolant((a,), v; method = m)
  print(max(abs(h(at) - k(x, cos(x))(at[.., ..1]) * k(y, exp(-y))(at[.., 1..]))) < 1e-15)
}
#> true
#> true
#> true
# Values at the nodes are exact. Along grid lines, pchip is monotone where the
# data are.
max(abs(f([x[i] * (1 - c) + y[j] * c for i in 0..5, j in 0..6, c in 0..2]) - V)) < 1e-14     #> true
steps = [0.0, 0, 0, 1, 1, 1]
s = grid_interpolant((0.0 + iota(6), 0.0 + iota(6)), outer(steps, steps); method = "pchip")
line = s([5.0 * (1 - c) + c * i / 20 for i in 0..101, c in 0..2])
(min(line[1..] - line[..-1]) >= 0, max(line) <= 1, min(line) >= 0)   #> (true, true, true)
# Cubics are exact, and so are their derivatives of every order.
p(v) = v[0]^3 * v[1]^2 - v[0] * v[1]^3 + 2
q = grid_interpolant((x, y), [p([x[i], y[j]]) for i, j])
q([1.7, 0.9])        #~ p([1.7, 0.9]) tol 1e-13
grad(q)([1.7, 0.9])  #~ grad(p)([1.7, 0.9]) tol 1e-12
hessian(q)([1.7, 0.9])       #~ hessian(p)([1.7, 0.9]) tol 1e-11
# With respect to values (linear: exact differences) and to axes.
direction = cos([1.0 * i + 3 * j for i in 0..5, j in 0..6])
jvp(A -> grid_interpolant((x, y), A)(at), V, direction)[1]   #~ grid_interpolant((x, y), direction)(at) tol 1e-13
for m in list("linear", "cubic", "pchip", "akima") {
  print(check_grad(A -> sum(grid_interpolant((x, y), A; method = m)(at)^2), V + direction).differences < 1e-7,
    check_grad(a -> sum(grid_interpolant((a, y), V + direction; method = m)(at)^2), x).differences < 1e-7)
}
#> true true
#> true true
#> true true
#> true true
# orders of convergence: 2 and 4
error(m, n) = {
  t = linspace(0.0, 1, n)
  g = grid_interpolant((t, t), [exp(sin(3 * t[i]) * t[j]) for i, j]; method = m)
  u = linspace(0.03, 0.96, 40)
  max(abs(map(a -> g([a, 0.7 * a]) - exp(sin(3 * a) * 0.7 * a), u)))
}
log2(error("linear", 17) / error("linear", 33)) > 1.7        #> true
log2(error("cubic", 17) / error("cubic", 33)) > 3.6  #> true
map(v -> f([v, v]), [0.1, 0.7])      #~ f([0.1, 0.1; 0.7, 0.7])
shape(f(zeros(3, 4, 2)))     #> (3, 4)

# ---- scattered points
X = [((i + 0.0) * (if c == 0 { 0.37 } else { 0.61 })) % 1 for i in 0..20, c in 0..2]
F = sin(3 * X[.., 0]) * exp(X[.., 1])
P = [0.2, 0.3; 0.5, 0.5; 0.9, 0.15]
rbf(X, F)(P)         #~ [0.763468110840307, 1.6393317820150484, 0.5592260057656463] tol 1e-12
rbf(X, F; kernel = "cubic")(P)       #~ [0.7710783621629109, 1.6487459883140407, 0.4862422392547079] tol 1e-12
rbf(X, F; kernel = "quintic")(P)     #~ [0.7665859612839391, 1.6449936309916, 0.4792005077943965] tol 1e-11
rbf(X, F; kernel = "linear")(P)      #~ [0.7583626777967916, 1.592940240540204, 0.6820801250955375] tol 1e-12
rbf(X, F; kernel = "multiquadric", epsilon = 2.0)(P)         #~ [0.7575493032352458, 1.6449392006742816, 0.5136407529814253] tol 1e-11
rbf(X, F; kernel = "gaussian", epsilon = 4.0)(P)     #~ [0.8617907368728536, 1.6145492109668536, 0.6311003900110104] tol 1e-11
rbf(X, F; smooth = 0.01)(P)          #~ [0.7639312345310969, 1.6324745614965934, 0.572887072838642] tol 1e-12
rbf(X, F; kernel = "quintic", smooth = 0.01)(P)      #~ [0.7780484692183159, 1.6397015120949923, 0.38768087673801355] tol 1e-11
rbf(X, F; kernel = "linear", smooth = 0.01)(P)       #~ [0.7602080456928512, 1.5870944893911, 0.6900991047740842] tol 1e-12
max(abs(rbf(X, F)(X) - F)) < 1e-12   #> true
# derivatives with respect to location, values and points
for k in list("thin_plate", "cubic", "quintic", "multiquadric", "gaussian") {
  r(v) = rbf(X, F; kernel = k, epsilon = 3.0)(v)
  print(check_grad(r, [0.3, 0.4]).differences < 1e-7, max(abs(hessian(r)([0.3, 0.4]) - jacobian(grad(r))([0.3, 0.4]))) < 1e-9,
    check_grad(f -> sum(rbf(X, f; kernel = k, epsilon = 3.0)(P)^2), F).differences < 1e-6,
    check_grad(x -> sum(rbf(x, F; kernel = k, epsilon = 3.0)(P)^2), X).differences < 1e-5)
}
#> true true true true
#> true true true true
#> true true true true
#> true true true true
#> true true true true
# the gradient at a data point is the limit
grad(rbf(X, F; kernel = "cubic"))(X[3])      #~ grad(rbf(X, F; kernel = "cubic"))(X[3] + 1e-9) tol 1e-6
# planes are exact in three variables, too
rbf([((i + 1.0) * (0.17 + 0.21 * c)) % 1 for i in 0..9, c in 0..3], [1 + 2 * (((i + 1.0) * 0.17) % 1) - (((i + 1.0) * 0.59) % 1) for i in 0..9])([0.2, 0.3, 0.4])     #~ 1.0 tol 1e-11
# mismatched arguments are reported
try { str(rbf(X, F[..3])) } catch m { m }    #> rbf takes as many values as points, 20, not 3
try { str(rbf(X[..2], F[..2])) } catch m { m }       #> rbf: this kernel wants at least 3 points
try { str(grid_interpolant((x, y), V')) } catch m { m }      #> axis 0 has 5 places for 6 values
try { str(grid_interpolant((x[.. by -1], y), V)) } catch m { m }     #> the places of axis 0 must ascend
