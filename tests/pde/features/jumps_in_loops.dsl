# Layers that a problem defines in a loop or by a table. Elements end at the
# jumps; other grids do not treat the jumps as smooth.
# As users run it only: compiling all of it takes long.

edges = [0.3, 0.437]
ks = [1.0, 10.0, 3.0]
by_index(x) = { k = 1.0; for i in 0..2 { if x > edges[i] { k = ks[i + 1] } }; k }
by_element(x) = { k = 1.0; for (i, e) in enumerate(edges) { if x > e { k = ks[i + 1] } }; k }
by_turns(x) = { i = 0; while i < 2 and x > edges[min(i, 1)] { i = i + 1 }; ks[i] }
by_width(x) = { k = 1.0; e = 0.3; for i in 0..2 { if x > e { k = ks[i + 1] }; e = e + 0.137 }; k }
by_search(x) = ks[searchsorted(edges, x)]
by_nearest(x) = ks[argmin(abs([0.25, 0.35, 0.524] - x))]
by_cells(x) = { k = 0.0; for i in 0..3 { k = k + ks[i]*f64(x >= [0, 0.3, 0.437][i] and x < [0.3, 0.437, 1.1][i]) }; k }

# (k u')' == 0 and u'' == k
R = 0.3 + 0.137/10 + 0.563/3
through(x) = (min(x, 0.3) + max(min(x, 0.437) - 0.3, 0)/10 + max(x - 0.437, 0)/3)/R
twice(x) = 0.5*x^2 + 9*0.5*max(x - 0.3, 0)^2 - 7*0.5*max(x - 0.437, 0)^2
loaded(x) = twice(x) - twice(1.0)*x
xs = linspace(0.013, 0.987, 99)
for (i, k) in enumerate(list(by_index, by_element, by_turns, by_width, by_search, by_nearest, by_cells)) {
  problem layers {
    domain x in [0, 1]
    field u
    ∂x(k(x)*∂x(u)) == 0
    u == 0 at x = 0
    u == 1 at x = 1
  }
  problem load {
    domain x in [0, 1]
    field u
    u_xx == k(x)
    u == 0 at x = 0, x = 1
  }
  off(s, right) = norm(s.u(xs) - right)/norm(right)
  e = off(solve(layers, fem(0.1)), through(xs))
  assert(e < 1e-12, "{i}, elements: {e}")
  s = solve(layers, fd(n = 41, order = 2))
  e = off(s, through(xs))
  assert(e < 3s.error and e < 1e-3, "{i}, fd: {e}, {s.error}")
  for m in list(fd(n = 41), fem(0.1, order = 2)) {
    s = solve(load, m)
    e = off(s, loaded(xs))
    assert(e < 3s.error + 1e-9 and e < 0.05, "{i}, load by {m.name}: {e}, {s.error}")
  }
}

# Eight layers within a thousandth of the interval, with eight elements each.
# Their rounding errors are 1e-10.
thin(x) = { k = 1.0; for i in 0..8 { if x > 0.5001 + 1e-4*i { k = k + 1 } }; k }
R = 0.5001 + sum(1e-4/(i + 2.0) for i in 0..7) + (1 - 0.5008)/9
problem stack_of_layers {
  domain x in [0, 1]
  field u
  ∂x(thin(x)*∂x(u)) == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(stack_of_layers, fem(0.1)).u(0.5)    #~ 0.5/R tol 1e-10

# A block is also an expression under a derivative, and a source of finite
# volumes.
problem blocks {
  domain x in [0, 1]
  field u
  ∂x({ k = if x < 0.5 { 1.0 } else { 10.0 }; k*u_x }) == { s = 0.0; s }
  u == 0 at x = 0
  u == 1 at x = 1
}
solve(blocks, fem(0.1)).u(0.5)    #~ 10/11 tol 1e-12
problem fed {
  domain t in [0, 0.5], x in [0, 1] periodic
  field u
  u_t + u_x == { r = 0.0; while r < 1 { r = r + (if t > 0.3 { 2 } else { 1 }) }; r }
  u == sin(2π*x) at t = 0
}
solve(fed, fv(n = 50), partial = true).u(0.5, 0.3) - solve(fed, fv(n = 50), partial = true).u(0.0, 0.3 + 0.5)    #~ 0.7 tol 0.1

# A table in time with moving knots: finite elements have derivatives between
# them, but not beside a jump.
ts = [0.0, 0.1, 0.25, 0.4, 0.55, 0.7]
ys = [0.0, 1.0, 3.0, 2.0, 5.0, 4.0]
problem heated(a, jump) {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t == u_xx + (if jump { ys[searchsorted(a*ts, t) - 1] } else { interp(t, a*ts, ys) })
  u == 0 at t = 0
  u_x == 0 at x = 0, x = 1
}
linear(a) = integrate(t -> interp(t, a*ts, ys), 0, 0.5)
steps(a) = integrate(t -> ys[searchsorted(a*ts, t) - 1], 0, 0.5)
by(jump, m) = a -> solve(heated(a, jump), m, rtol = 1e-8).u(0.5, 0.5)
by(false, fem(0.25))'(1.0)      #~ linear'(1.0) tol 1e-6
by(true, fd(n = 11))'(1.0)      #~ steps'(1.0) tol 1e-6
try { "{by(true, fem(0.25))'(1.0)}" } catch m { contains(m, "jumps where a table is searched") }    #> true
problem placed(a) {
  domain x in [0, 1]
  field u
  u_xx == ys[searchsorted(a*ts, x) - 1]
  u == 0 at x = 0, x = 1
}
for m in list(fd(n = 41), fem(0.1), collocation(), shooting(), chebyshev(20)) {
  f(a) = solve(placed(a), m, partial = true, estimate = false).u(0.5)
  said = try { "{f'(1.0)}" } catch m { m }
  assert(contains(said, "place that depends on what is differentiated by"), m.name)
}
problem rings(a) {
  domain x in [-1, 1], y in [-1, 1]
  field u
  Δ(u) == -ks[searchsorted(stack(a, 0.7), sqrt(x^2 + y^2))]
  u == 0 at boundary
}
ring(a) = solve(rings(a), fd(n = 21), estimate = false, partial = true).u(0.1, 0.2)
try { "{ring'(0.3)}" } catch m { contains(m, "at a place that depends on what is differentiated by") }    #> true
