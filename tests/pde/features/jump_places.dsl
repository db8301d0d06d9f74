# Derivatives with respect to the location of a jump in space are refused; other
# derivatives are right.
said(f) = try { f(); "" } catch m { m }
problem layer(s, k) {
  domain x in [0, 1]
  field u
  ∂x((if x < s { k } else { 10.0 })*∂x(u)) == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
problem heated(s, v) {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t == u_xx + (if abs(x - s - v*t) < 0.1 { 1.0 } else { 0.0 })
  u == (if x > s { 1.0 } else { 0.0 }) at t = 0
  u == 0 at x = 0
  u == 1 at x = 1
}
for m in (fd(n = 21), fem(0.1)) {
  by_place = s -> solve(layer(s, 2.0), m).u(0.3)
  by_factor = k -> solve(layer(0.5, k), m).u(0.3)
  assert(contains(said(() -> by_place'(0.5)), "jumps at a place that depends"), m.name)
  # u(0.3) = (0.3/k)/(0.5/k + 0.05)
  assert(abs(by_factor'(2.0) - (k -> 0.3/(0.5 + 0.05k))'(2.0)) < 1e-9, m.name)
}
for m in (fd(n = 21), fem(0.1), chebyshev(12), fv(n = 20)) {
  if m.name != "chebyshev" {
    assert(contains(said(() -> (s -> solve(heated(s, 0.0), m, estimate = false).u(0.5, 0.4))'(0.3)), "at a place that depends"),
      m.name)
    assert(contains(said(() -> (v -> solve(heated(0.3, v), m, estimate = false).u(0.5, 0.4))'(0.1)), "at a place that depends"),
      m.name)
  }
}
# A library function that chooses its formula by a comparison does not jump
# there.
problem moves(x0) {
  domain t in [0, 0.1], x in [0, 10] periodic
  field u
  u_t + u_x == 0
  u == sech(x - x0)^2 at t = 0
}
g(x0) = sech(4 - 0.1 - x0)^2
(s -> solve(moves(s), fourier(64)).u(0.1, 4.0))'(5.0)      #~ g'(5.0) tol 1e-4
