# Sources in a small part of space: methods integrate them in full, or report
# that the grid cannot resolve them.
# In a long check only: it takes half a minute.

problem load(w) {
  domain x in [0, 1]
  field u
  u_xx == -(if x > 0.4123 and x < 0.4123 + w { 1/w } else { 0.0 })
  u == 0 at x = 0
  u == 0 at x = 1
}
# Outside the load, the solution is that of a point force at its middle.
at(w, x) = x*(1 - 0.4123 - 0.5w)
for w in [0.1, 1e-3, 1e-5] {
  for m in (collocation(), collocation(8), shooting(), fem(0.05), fem(0.1, order = 2)) {
    s = solve(load(w), m; estimate = true)
    off = abs(s.u(0.3)/at(w, 0.3) - 1)
    # The ends of the load are known to a rounding of x.
    assert(off < 1e-6 + 1e-14/w and s.error < 0.005, "{m.name} {w}: {off} {s.error}")
  }
  off = abs(solve(load(w)).u(0.3)/at(w, 0.3) - 1)
  assert(off < 1e-6 + 1e-14/w, "default {w}: {off}")
  f = (x, y) -> [y[1], -(if x > 0.4123 and x < 0.4123 + w { 1/w } else { 0.0 })]
  y = bvp(f, (a, b) -> [a[0], b[0]], (0.0, 1.0), [0.0, 0.0])
  assert(abs(y.y(0.3)[0]/at(w, 0.3) - 1) < 1e-6 + 1e-14/w, "bvp {w}")
}
said(f) = try { f(); "" } catch m { m }
for m in (fd(n = 81), chebyshev(16), rfm(100)) {
  assert(contains(said(() -> solve(load(1e-4), m; estimate = false)), "no point of {m.name}() is between"), m.name)
}
# solved on request, with partial = true
s = solve(load(1e-4), chebyshev(16), partial = true, estimate = false);
abs(s.u(0.3))                                #> 0.0

# An insulating layer: a resistance of 1 in series with another.
problem layer(w) {
  domain x in [0, 1]
  field u
  ∂x((if x > 0.7 and x < 0.7 + w { w } else { 1.0 })*∂x(u)) == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
for w in [0.01, 1e-4] {
  assert(abs(solve(layer(w), fem(0.05)).u(0.5)/(0.5/(2 - w)) - 1) < 1e-9, "layer {w}")
}
contains(said(() -> solve(layer(1e-4), fd(n = 41))), "no point of fd() is between")     #> true

# A wire that heats a wall, and a square in two dimensions.
problem wire(w) {
  domain t in [0, 2], x in [0, 1]
  field u
  u_t == u_xx + (if x > 0.3 and x < 0.3 + w { 1/w } else { 0.0 })
  u == 0 at t = 0
  u == 0 at x = 0
  u == 0 at x = 1
}
for w in [0.1, 1e-3] {
  s = solve(wire(w), fem(0.05, order = 2))
  assert(abs(s.u(2.0, 0.2)/(0.2*(0.7 - 0.5w)) - 1) < 1e-4, "wire {w}: {s.u(2.0, 0.2)}")
}
problem square(w) {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == -(if x > 0.3 and x < 0.3 + w and y > 0.6 and y < 0.6 + w { 1/w^2 } else { 0.0 })
  u == 0 at x = 0, x = 1, y = 0, y = 1
}
# Green's function of the square, far from its pole.
green(x, y, a, b) = {
  n = 1.0 + iota(60)
  k = n*π
  (low, high) = (min(y, b), max(y, b))
  sum(2sin(k*x)*sin(k*a)*sinh(k*low)*sinh(k*(1 - high))/(k*sinh(k)))
}
for w in [0.01, 1e-3] {
  s = solve(square(w), fem(0.04, order = 2))
  right = green(0.7, 0.2, 0.3 + 0.5w, 0.6 + 0.5w)
  assert(abs(s.u(0.7, 0.2)/right - 1) < 2e-4, "square {w}: {s.u(0.7, 0.2)} {right}")
}
contains(said(() -> solve(square(1e-3), fd(n = 41))), "no point of fd() is between")     #> true

# a smooth load across the interface of two layers
problem upon(w) {
  domain x in [0, 1]
  field u
  ∂x((if x < 0.4 { 1.0 } else { 3.0 })*∂x(u)) == -exp(-((x - 0.4)/w)^2)/(w*sqrt(π))
  u == 0 at x = 0, x = 1
}
for w in [0.02, 3e-3, 1e-4] {
  s = solve(upon(w), fem(0.02, order = 2); estimate = false)
  off = abs(s.u(0.4)/(2/15 - 5*w/(18*sqrt(π))) - 1)
  assert(off < 1e-3, "{w}: {off}")
}
for w in [3e-3, 1e-4] {
  assert(contains(said(() -> solve(upon(w), fd(n = 81); estimate = false)), "no point of fd() is between"), "fd {w}")
}
