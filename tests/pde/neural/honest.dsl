# Networks in hard cases: data in a small part of the domain, unbounded
# coefficients, many dimensions, and problems where a small residual does not
# imply a small error.
# In a long check only: it takes half a minute.

# ---- data in a small part: thousands of points determine their scale
problem bump {
  domain t in [0, 1], x in [-8, 8]
  field u
  u_t == 0.1u_xx
  u == exp(-4x^2) at t = 0
  u == 0 at x = -8, x = 8
}
# exp(-4x^2/(1 + 1.6t))/sqrt(1 + 1.6t)
s = solve(bump, pinn([12, 12], 800; steps = 60));
s.u(1.0, 0.0)                          #~ 1/sqrt(2.6) tol 0.01
s.u(1.0, 1.0)                          #~ exp(-4/2.6)/sqrt(2.6) tol 0.01
s.error < 0.1                          #> true
# With half as many steps, nine tenths of the residual remain, which is an
# error.
half = try {
  solve(bump, pinn([12, 12], 800; steps = 30)).error
} catch m {
  if find(m, "% of the equations") >= 0 { 2.0 } else { 3.0 }
}
half == 2                              #> true
# A very narrow initial peak: the network does not find it, and reports this.
problem needle {
  domain t in [0, 1], x in [-30, 30]
  field u
  u_t == 0.2u_xx
  u == exp(-3x^2) at t = 0
  u == 0 at x = -30, x = 30
}
e = try { s = solve(needle, pinn([8], 200; steps = 5)); s.error - 0.3*abs(s.u(1.0, 0.0) - 1/sqrt(3.4))*sqrt(3.4) } catch m { 1.0 }
e > 0                                  #> true
# A source in a small part of the interval is not symmetric about the middle,
# though it is 0 almost everywhere.
problem load {
  domain x in [0, 1]
  field u
  u_xx == -1e4*exp(-((x - 0.7)/0.02)^2)
  u == 0 at x = 0, x = 1
}
# G(0.7, 0.7) times the integral of the load, up to 1e-4
solve(load, pinn([16, 16], 400; steps = 60)).u(0.3)      #~ 0.3*0.3*1e4*0.02*sqrt(π) tol 0.1
# A nonlinear condition does not prescribe a value: u = sqrt(4 - 3x).
problem roots {
  domain x in [0, 1]
  field u
  ∂x(u*u_x) == 0
  u^2 == 4 at x = 0
  u == 1 at x = 1
}
r = solve(roots, pinn([8], 60; steps = 60); guess = (u = x -> 2 - x,));
r.u(0.5)                               #~ sqrt(2.5) tol 1e-2

# ---- coefficients that are unbounded at the axis, with t
# Oracle: the Bessel series, four terms by mpmath.
problem disk {
  domain t in [0, 0.5], r in [0, 1]
  field T
  T_t == 1/r*∂r(r*∂r(T))
  T == 1 - r^2 at t = 0
  T_r == 0 at r = 0
  T == 0 at r = 1
}
solve(disk, pinn([12], 300; steps = 30)).T(0.5, 0.5)     #~ 0.0411884 tol 0.002

# ---- eight dimensions: conditions are penalty rows
# There are as many as coordinates. An exact ansatz would need 3^8 boundary
# values at each point.
problem eight {
  domain a in [0, 1], b in [0, 1], c in [0, 1], d0 in [0, 1], e in [0, 1], f in [0, 1], g in [0, 1], h in [0, 1]
  field u
  s = a + b + c + d0 + e + f + g + h
  lap(u) - 8u == 0
  u == exp(-s) at boundary
}
s = try { solve(eight, pinn([8], 60; boundary = 10, steps = 1)).error } catch m { 1.0 }
s > 0.01                               #> true

# ---- phase errors: the equations hold closely, but fronts come at wrong times
# The error estimate must be at least a third of the error.
problem vdp(μ) {
  domain t in [0, 20]
  field x, v
  x_t == v
  v_t == μ*(1 - x^2)*v - x
  x == 2 at t = 0
  v == 0 at t = 0
}
ref = solve(vdp(5.0), radau(order = 13), rtol = 1e-11, atol = 1e-12);
t = linspace(0.0, 20.0, 401)
ratio = try {
  s = solve(vdp(5.0), pinn([12], 200; steps = 12))
  norm(s.x(t) - ref.x(t))/norm(ref.x(t))/s.error
} catch m { 1.0 }
ratio < 3                              #> true
# a right solution has a small estimate
problem swing {
  domain t in [0, 4]
  field x, v
  x_t == v
  v_t == -x
  x == 1 at t = 0
  v == 0 at t = 0
}
s = solve(swing, pinn([12], 100; steps = 40));
off = norm(s.x(t/5) - cos(t/5))/norm(cos(t/5));
s.error < 1e-3 and off < 3*s.error     #> true

# The rate jumps with the unknown, so more features reduce the residual but
# hardly the error. The estimate is the difference of two solutions. By
# rounding, some points may end on the wrong side of the jump. The error is then
# a percent and not a millionth, and the estimate covers it.
problem thaw {
  domain t in [0, 1], x in [0, 1]
  field u
  v(t, x) = (0.5 + 0.4*x^2)*(1 + 0.5*sin(4.5t))
  r(u) = if u < 0.6 { 2.7 } else { 0.2 }
  r(u)*u_t == 0.2*u_xx + r(v(t, x))*(0.5 + 0.4*x^2)*2.25*cos(4.5t) - 0.16*(1 + 0.5*sin(4.5t))
  u == v(0.0, x) at t = 0
  u == v(t, 0.0) at left
  u == v(t, 1.0) at right
}
thawed(t, x) = (0.5 + 0.4*x^2)*(1 + 0.5*sin(4.5t))
s = solve(thaw, rfm(features = 200))
places = linspace(0, 1, 101)
off(t) = norm(s.u(t, places) - thawed(t, places))/norm(thawed(t, places))
max(map(off, [0.35, 0.7, 1.0])) < s.error #> true
s.error < 0.02 #> true
