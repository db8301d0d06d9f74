# ode(...; sparse = true): the same solution and the same derivatives as with the dense Jacobian.
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
# a coefficient that is 0 at the start is part of the pattern all the same
g(t, u) = sin(t) * u[(iota(20) + 1) % 20] - u
ode(g, ones(20), (0.0, 3.0), sparse = true, rtol = 1e-8).y(3.0)          #~ ode(g, ones(20), (0.0, 3.0), rtol = 1e-8).y(3.0) tol 1e-6

# a Jacobian that is one row, had from the transpose alone
one_row(k) =
  ode((t, y) -> concat(stack(-k * sum(y)), zeros(9)), ones(10), (0.0, 1.0); sparse = true, rtol = 1e-9,
    atol = 1e-11).values[-1][0]
one_row(1.0)                                              #~ 10exp(-1.0) - 9 tol 1e-7
one_row'(1.0)                                             #~ -10exp(-1.0) tol 1e-7
