# Networks where data fill a small part of the box, where coefficients have no bound, in many dimensions, and where a small
# rest of the equations is no small error.
# In a long check only: it takes half a minute.

# ---- data in a small part: their size is found at thousands of places, not at five (0.96, and nan, before)
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
# half as many steps leave nine tenths of the equations, which is an error
half = try {
  solve(bump, pinn([12, 12], 800; steps = 30)).error
} catch m {
  if find(m, "% of the equations") >= 0 { 2.0 } else { 3.0 }
}
half == 2                              #> true
# on an interval in which it is a needle the network does not find it, and says so
problem needle {
  domain t in [0, 1], x in [-30, 30]
  field u
  u_t == 0.2u_xx
  u == exp(-3x^2) at t = 0
  u == 0 at x = -30, x = 30
}
e = try { s = solve(needle, pinn([8], 200; steps = 5)); s.error - 0.3*abs(s.u(1.0, 0.0) - 1/sqrt(3.4))*sqrt(3.4) } catch m { 1.0 }
e > 0                                  #> true
# a source in a small part is not symmetric about the middle, though it is 0 nearly everywhere (104 before)
problem load {
  domain x in [0, 1]
  field u
  u_xx == -1e4*exp(-((x - 0.7)/0.02)^2)
  u == 0 at x = 0, x = 1
}
# G(0.7, 0.7) times the integral of the load, up to 1e-4
solve(load, pinn([16, 16], 400; steps = 60)).u(0.3)      #~ 0.3*0.3*1e4*0.02*sqrt(π) tol 0.1
# a condition that is not linear says no value: u = sqrt(4 - 3x)
problem roots {
  domain x in [0, 1]
  field u
  ∂x(u*u_x) == 0
  u^2 == 4 at x = 0
  u == 1 at x = 1
}
r = solve(roots, pinn([8], 60; steps = 60); guess = (u = x -> 2 - x,));
r.u(0.5)                               #~ sqrt(2.5) tol 1e-2

# ---- coefficients without a bound at the axis, with t (nan before): Bessel's series, four terms by mpmath
problem disk {
  domain t in [0, 0.5], r in [0, 1]
  field T
  T_t == 1/r*∂r(r*∂r(T))
  T == 1 - r^2 at t = 0
  T_r == 0 at r = 0
  T == 0 at r = 1
}
solve(disk, pinn([12], 300; steps = 30)).T(0.5, 0.5)     #~ 0.0411884 tol 0.002

# ---- eight dimensions: conditions in rows, as many as coordinates (3^8 values of conditions at a point before)
problem eight {
  domain a in [0, 1], b in [0, 1], c in [0, 1], d0 in [0, 1], e in [0, 1], f in [0, 1], g in [0, 1], h in [0, 1]
  field u
  s = a + b + c + d0 + e + f + g + h
  lap(u) - 8u == 0
  u == exp(-s) at boundary
}
s = try { solve(eight, pinn([8], 60; boundary = 10, steps = 1)).error } catch m { 1.0 }
s > 0.01                               #> true

# ---- an oscillator whose fronts come at wrong times though the equations hold nearly: 0.005 was said of 1.4
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
# where it is right it says so as well
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

# Where the rate jumps with the unknown, more features lessen the residual
# and hardly the error: the estimate is how far two solutions are apart.
# Some places may end on the wrong side of the jump, by roundings: then the
# error is a percent and not a millionth, and the estimate says so.
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
