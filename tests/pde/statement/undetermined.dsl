# Problems without time. Those with many solutions are refused by every method;
# those with one are solved, however ill-conditioned their matrices are.
# In a long check only: it takes half a minute.

said(p, m) = try { s = solve(p, m); "{s.u(0.3)}" } catch e { e }
refused(p, m) = assert(contains(said(p, m), "determine") or contains(said(p, m), "singular"), "{m.name}: {said(p, m)}")

# unique up to a constant while the flux condition is zero
problem switched(top) {
  domain x in [0, 1]
  field u
  u_xx == cos(π*x)
  u_x == 0 at x = 0
  u_x + 2*max(u - top, 0) == 0 at x = 1
}
# where the source does not depend on u
problem sources(top) {
  domain x in [0, 1]
  field u
  u_xx == max(u - top, 0) + cos(π*x)
  u_x == 0 at x = 0, x = 1
}
for p in (switched(5.0), sources(3.0)) {
  for m in (fd(), fd(n = 64), fd(n = 81, order = 2), chebyshev(), chebyshev(16), fem(0.05), fem(0.1, order = 2), collocation(), shooting()) {
    refused(p, m)
  }
}
# only the difference of two fields is determined
problem pair {
  domain x in [0, 1]
  field u, v
  u_xx == u - v + sin(2π*x)
  v_xx == v - u
  u_x == 0 at x = 0, x = 1
  v_x == 0 at x = 0, x = 1
}
for m in (fd(n = 64), chebyshev(), fem(0.05), fem(0.1, order = 2)) { refused(pair, m) }
problem plane {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == cos(π*x)*cos(π*y)
  u_x + max(u - 7, 0) == 0 at x = 0
  u_x == 0 at x = 1
  u_y == 0 at y = 0, y = 1
}
for n in 31..41 {
  said = try { s = solve(plane, fd(n = n)); "{s.u(0.3, 0.3)}" } catch e { e }
  assert(contains(said, "determine"), "fd({n}): {said}")
}

# ---- one solution

# with mean 0
problem insulated {
  domain x in [0, 1]
  field u
  u_xx == cos(π*x)
  u_x == 0 at x = 0, x = 1
}
for n in [31, 64, 81, 100, 128, 201] {
  s = solve(insulated, fd(n = n))
  e = abs(s.u(0.1) + cos(0.1π)/π^2)
  assert(e < 2e-5 and e < 10s.error + 1e-9, "{n}: {e}, {s.error} said")
}
# A clamped beam, whose matrix has a condition number of 1e12: u_xxxx == 24 has
# the solution x²(1 - x)².
problem beam {
  domain x in [0, 1]
  field u
  u_xxxx == 24
  u == 0 at x = 0, x = 1
  u_x == 0 at x = 0, x = 1
}
for m in (fd(n = 1001), chebyshev(16), chebyshev(64), chebyshev(128)) {
  s = solve(beam, m)
  e = abs(s.u(0.3)/(0.3*0.7)^2 - 1)
  assert(e < 1e-4 and e < 10s.error + 1e-9, "{m.name}: {e}, {s.error} said")
}
# a layer, and unknowns of very different magnitudes
problem layer {
  domain x in [0, 1]
  field u, v
  1e-6*u_xx == u - 1
  v_xx == 1e-9*sin(π*x)
  u == 0 at x = 0, x = 1
  v == 0 at x = 0, x = 1
}
s = solve(layer, fd(n = 2001, order = 2));
abs(s.v(0.5)/(-1e-9/π^2) - 1) < 1e-5      #> true
abs(s.u(0.5) - 1) < 1e-5      #> true
