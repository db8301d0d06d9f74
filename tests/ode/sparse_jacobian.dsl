# ode(...; sparse = true): the same solutions and derivatives as with the dense
# Jacobian.
# As users run it only: compiling all of it takes long.
f(t, u, k) = { n = len(u); [k * n^2 * (u[(i+1) % n] - 2u[i] + u[(i-1) % n]) + u[i]^2 - u[i]^3 + 0.1 * sin(t) * u[0] for i] }
u0 = 0.5 + 0.4 * sin(2π * iota(60) / 60)
by(k, how) = ode((t, u) -> f(t, u, k), u0, (0.0, 1.0), rtol = 1e-9, atol = 1e-11, sparse = how)
a = by(0.01, false);
b = by(0.01, true);
max(abs(a.y(1.0) - b.y(1.0))) < 1e-12                                    #> true
b.stats.steps == a.stats.steps                                           #> true
dense_one(k) = sum(ode((t, u) -> f(t, u, k), u0, (0.0, 1.0), rtol = 1e-9, atol = 1e-11).y(1.0)^2)
sparse_one(k) = sum(ode((t, u) -> f(t, u, k), u0, (0.0, 1.0), rtol = 1e-9, atol = 1e-11, sparse = true).y(1.0)^2)
sparse_one'(0.01)                                                        #~ dense_one'(0.01) tol 1e-9
grad(sparse_one)(0.01)                                                   #~ grad(dense_one)(0.01) tol 1e-9
sparse_one''(0.01)                                                       #~ dense_one''(0.01) tol 1e-8
# A coefficient that is 0 at the initial time is part of the pattern.
g(t, u) = sin(t) * u[(iota(20) + 1) % 20] - u
ode(g, ones(20), (0.0, 3.0), sparse = true, rtol = 1e-8).y(3.0)          #~ ode(g, ones(20), (0.0, 3.0), rtol = 1e-8).y(3.0) tol 1e-6

# A Jacobian with one dense row, for which reverse mode alone suffices.
one_row(k) =
  ode((t, y) -> concat(stack(-k * sum(y)), zeros(9)), ones(10), (0.0, 1.0); sparse = true, rtol = 1e-9,
    atol = 1e-11).values[-1][0]
one_row(1.0)                                              #~ 10exp(-1.0) - 9 tol 1e-7
one_row'(1.0)                                             #~ -10exp(-1.0) tol 1e-7

# ---- automatic patterns
# bdf() and radau5() find the pattern without `sparse`: from 32 unknowns on, if
# at most a tenth of the elements are nonzero.
spread(w) = concat([0.0], w[..-1]) - 2w + concat(w[1..], [0.0])
line(n, k) = (t, y) -> k * spread(y^2) - y^3 + sin(t)
all_to_all(n, k) = (t, y) -> k * (mean(y) - y^3)
for m in list(bdf(), radau5()) {
  # the same values as with `sparse`, or as without, respectively
  r(n, sparse) = ode(line(n, 200.0), ones(n), (0.0, 0.5); method = m, sparse = sparse, saveat = [0.25, 0.5]).values
  q(n) = ode(line(n, 200.0), ones(n), (0.0, 0.5); method = m, saveat = [0.25, 0.5]).values
  assert(all(q(60) == r(60, true)), "{m.name}: on its pattern")
  assert(all(q(20) == r(20, false)), "{m.name}: too few unknowns")
  assert(max(abs(q(60) - r(60, false))) < 1e-4, "{m.name}: as with a matrix")
  full(sparse) = ode(all_to_all(60, 200.0), linspace(0.5, 1, 60), (0.0, 0.5); method = m, sparse = sparse, saveat = [0.5]).values
  assert(all(full(none) == full(false)), "{m.name}: too many elements")
  # Derivatives, also with respect to a matrix whose zeros determine the
  # pattern.
  end(k) = sum(ode(line(60, k), ones(60), (0.0, 0.5); method = m, rtol = 1e-8, atol = 1e-10, saveat = [0.5]).values)
  assert(abs(end'(200.0) - (end(201.0) - end(199.0)) / 2) < 1e-4 * abs(end'(200.0)), "{m.name}: forwards")
  assert(abs(grad(p -> end(p[0]) + p[1] * p[2])([200.0, 1, 1])[0] - end'(200.0)) < 1e-5 * abs(end'(200.0)), "{m.name}: backwards")
  by(A) = sum(ode((t, y) -> A @ y - y^3, ones(40), (0.0, 0.5); method = m, rtol = 1e-8, atol = 1e-10, saveat = [0.5]).values * linspace(0.0, 1, 40))
  A = -5.0 * eye(40)
  C = zeros(40, 40)
  C[3, 30] = 1e-2
  g = grad(by)(A)
  assert(abs(g[3, 30] - (by(A + C) - by(A - C)) / 2e-2) < 1e-6 * max(abs(g)), "{m.name}: by an element that is zero")
}
# A right-hand side of the wrong extent is still an error.
try { ode((t, y) -> concat(y, y), ones(40), (0.0, 1.0); method = bdf()) } catch m { find(m, "40") >= 0 }    #> true
# a problem with a large field
n = 50
problem chain() {
  domain t in [0, 0.5]
  field u[n]
  u_t == 200 * spread(u^2) - u^3 + sin(t)
  u == ones(n) at t = 0
}
solve(chain(), bdf(); rtol = 1e-8, atol = 1e-10, saveat = [0.5]).values[0]     #~ ode(line(n, 200.0), ones(n), (0.0, 0.5); method = radau5(), sparse = false, rtol = 1e-9, atol = 1e-11, saveat = [0.5]).values[0] tol 1e-6
