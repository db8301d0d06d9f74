# The linear solvers of implicit steps: banded, sparse direct (KLU; UMFPACK
# where factors fill in), and GMRES with incomplete factors. All give the same
# solutions to the tolerance, the same derivatives, and the same message for a
# singular matrix.
# In a long check only: it takes half a minute.
problem brusselator(A = 3.4, α = 0.1) {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic
  field u, v
  u_t == 1 + u^2*v - (A + 1)*u + α*Δ(u)
  v_t == A*u - u^2*v + α*Δ(v)
  u == 22*y*(1 - y)^1.5 at t = 0
  v == 27*x*(1 - x)^1.5 at t = 0
}
end(n, l; A = 3.4) = solve(brusselator(A = A), fd(n, 2; time = bdf(linear = l)); t = (0.0, 0.5), saveat = [0.5], rtol = 1e-7, atol = 1e-9).values[0];
exact = end(24, "sparse");
max(abs(exact)) > 1                    #> true
end(24, "banded")                      #~ exact tol 1e-6
end(24, "krylov")                      #~ exact tol 1e-5
end(24, "auto")                        #~ exact tol 1e-6

# UMFPACK: a block in three dimensions.
problem block {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic, z in [0, 1] periodic
  field u
  u_t == Δ(u) - u^3
  u == 1 + sin(2π*x)*cos(2π*y)*sin(2π*z) at t = 0
}
around(w) = concat(w[1..], w[..1]) + concat(w[.., 1..], w[.., ..1]; axis = 1) + concat(w[.., .., 1..], w[.., .., ..1]; axis = 2)
contains(explain(sparsity(u -> { w = reshape(u, 15, 15, 15); ravel(around(w) + concat(w[14..], w[..14])) }, zeros(3375))), "UMFPACK")    #> true
cube(l) = solve(block(), fd(14, 2; time = bdf(linear = l)); saveat = [0.1], rtol = 1e-7, atol = 1e-9).values[0];
fronts = cube("sparse");
cube("krylov")                         #~ fronts tol 1e-5

# Derivatives by sensitivity equations in forward mode, and by the adjoint
# problem.
slope(l) = jvp(a -> sum(end(12, l; A = a)), 3.4, 1.0)[1];
slope("krylov")                        #~ slope("sparse") tol 1e-4
back(l) = grad(a -> end(12, l; A = a[0])[5] * a[1])([3.4, 1.0]);
back("krylov")                         #~ back("sparse") tol 1e-4

# Nonlinear boundary conditions, hence IDA; the temperature is steep at the
# walls.
problem radiating(l) {
  domain t in [0, 0.2], x in [0, 1], y in [0, 1]
  field u
  u_t == Δ(u)
  u == 1 + x*(1 - x)*y at t = 0
  u == 1       at x = 0, x = 1, y = 0
  ∂n(u) == 0.3*(1 - u^4) at y = 1
}
plate(l) = solve(radiating(l), fd(25, 2; time = bdf(linear = l)); saveat = [0.2], rtol = 1e-7, atol = 1e-9).values[0];
plate("krylov")                        #~ plate("sparse") tol 1e-5

# A right-hand side that is NaN after t = 0.5: both solvers give the same
# message.
wrong(l) = try { ode((t, y) -> where(t > 0.5, 0/0, 1.0) * y, ones(64), (0.0, 1.0); method = bdf(linear = l), sparse = true).y(1.0) } catch m { m[..36] }
wrong("krylov") == wrong("sparse")     #> true

# No equation determines q, so every matrix is singular. Each solver detects
# this and IDA reports it.
problem loose {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic, z in [0, 1] periodic
  field u, q
  u_t == Δ(u)
  0*q == u - 1
  u == 1 + sin(2π*x) at t = 0
}
said(l) = try { "{solve(loose(), fd(12, 2; time = bdf(linear = l)); saveat = [0.1]).q(0.1, 0.0, 0.0, 0.0)}" } catch m { m[..60] }
said("banded")                         #> no consistent initial values at t = 0 near the ones given, w
said("sparse") == said("banded")       #> true
said("krylov") == said("banded")       #> true
