# Faults that all solutions share. The solutions agree with each other, so only
# the problem itself reveals the fault.
# As users run it only: compiling all of it takes minutes.

tight(p, m) = solve(p, m; rtol = 1e-7, atol = 1e-9)
# shared: both solutions of the wrong problem are blamed. fine: a right one is
# not.
shared(p, a, b) = { r = compare(p, a, b); i64(len(r.faulty) == 2) }
fine(p, s) = i64(compare(p, s).agree)
(found, right) = (0, 0)

# ---- jumps of coefficients
# Pointwise, the equation holds everywhere except at one point.
problem line(start = 0.0, end = 1.0) {
  domain x in [0, 1]
  field u
  u_xx == 0
  u == start at x = 0
  u == end at x = 1
}
problem wall {
  domain x in [0, 1]
  field u
  ∂x((if x < 0.25 { 1 } else { 6 })*∂x(u)) == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
problem darcy {
  domain x in [0, 1]
  field u
  ∂x((if x < 0.25 { 1 } else { 6 })*(∂x(u) - 1)) == 0
  u == 0 at x = 0, x = 1
}
problem switch {
  domain x in [0, 1]
  field u
  ∂x((if u < 0.5 { 1 } else { 4 })*∂x(u)) == 0
  u == 0 at x = 0
  u == 1 at x = 1
}
found += shared(wall, solve(line(), collocation()), solve(line(), fem(h = 0.05)));
found += shared(darcy, solve(line(0.0, 0.0), collocation(), guess = (u = 0.0)), solve(line(0.0, 0.0), fd(n = 41)));
found += shared(switch, solve(line(), collocation()), solve(line(), fd(n = 41)));
right += fine(wall, solve(wall));
right += fine(wall, solve(wall, fd(n = 41)));
right += fine(darcy, solve(darcy, fem(h = 0.05)));
right += fine(switch, solve(switch, fd(n = 41), guess = (u = x -> x)));
problem warming(jump = true) {
  domain t in [0, 0.3], x in [0, 1]
  field u
  u_t == ∂x((if x < 0.25 { 1 } else { if jump { 6 } else { 1 } })*∂x(u))
  u == x at t = 0
  u == 0 at x = 0
  u == 1 at x = 1
}
found += shared(warming(), tight(warming(false), fd(n = 81)), tight(warming(false), fem(h = 0.05)));
right += fine(warming(), tight(warming(), fd(n = 81)));
problem plate(jump = true) {
  domain x in [0, 1], y in [0, 1]
  field u
  div((if x < 0.25 { 1 } else { if jump { 6 } else { 1 } })*grad(u)) == 0
  u == 0 at left
  u == 1 at right
  ∂n(u) == 0 at bottom, top
}
found += shared(plate(), solve(plate(false), fd(n = 21)), solve(plate(false), fem(h = 0.1)));
right += fine(plate(), solve(plate(), fd(n = 21)));
problem melting(k = 1.0) {
  domain t in [0, 0.05], x in [0, 1]
  field H
  H_t == k*∂x²(max(H - 1, 0))
  H == 3*exp(-400x^2) at t = 0
  H == 3 at x = 0
  H_x == 0 at x = 1
}
found += shared(melting(), solve(melting(0.3), fd(n = 201)), solve(melting(0.3), fd(n = 161)));

# ---- narrow peaks: latent heat, a load of width 0.01
problem freezing(latent = 20.0) {
  domain t in [0, 0.2], x in [0, 1]
  field T
  (1 + latent*exp(-((T - 0.5)/0.05)^2))*T_t == T_xx
  T == 0 at t = 0
  T == t/(0.02 + t) at x = 0
  T_x == 0 at x = 1
}
found += shared(freezing(), tight(freezing(0.0), fd(n = 81)), tight(freezing(0.0), chebyshev(n = 24)));
problem load(p = 100.0) {
  domain x in [0, 1]
  field u
  -u_xx == p*exp(-((x - 0.53)/0.01)^2)
  u == x at x = 0, x = 1
}
found += shared(load(), solve(load(0.0), collocation()), solve(load(0.0), fem(h = 0.05)));
right += fine(load(), solve(load()));
right += fine(load(), solve(load(), fem(h = 0.005, order = 2)));

# ---- a wrong coordinate, a missing term, signs, factors
problem ball(n = 2.0) {
  domain r in [0.1, 1]
  field u
  u_rr + n/r*u_r == -6
  u == 1 - r^2 at r = 0.1
  u == 0 at r = 1
}
found += shared(ball(), solve(ball(1.0)), solve(ball(1.0), fem(h = 0.02)));
right += fine(ball(), solve(ball()));
problem layer(c = 1.0, D = 0.1, r = 2.0, high = 1.0, left = 1.0) {
  domain t in [0, 0.5], x in [0, 1]
  field u
  u_t + c*u_x == D*u_xx + r*u*(1 - u)
  u == high*(1 - x) at t = 0
  u == left  at x = 0
  u_x == 0 at x = 1
}
by_two(p) = (tight(p, fd(n = 81)), tight(p, chebyshev(n = 24)))
found += shared(layer(), ...by_two(layer(-1.0)));
found += shared(layer(), ...by_two(layer(0.9)));
found += shared(layer(), ...by_two(layer(D = 0.12)));
found += shared(layer(), ...by_two(layer(r = 0.0)));
found += shared(layer(), ...by_two(layer(high = 0.8)));
found += shared(layer(), ...by_two(layer(left = 1.1)));
right += fine(layer(), by_two(layer())[0]);
right += fine(layer(), tight(layer(), fem(h = 0.02, order = 1)));
problem robin(h = 1.0, flux = 1.0) {
  domain x in [0, 1]
  field u
  u_xx == -flux
  u == 0 at x = 0
  u_x + h*u == 1 at x = 1
}
found += shared(robin(), solve(robin(2.0)), solve(robin(2.0), fem(h = 0.05)));
found += shared(robin(), solve(robin(flux = 1.2)), solve(robin(flux = 1.2), fd(n = 21)));
problem pair(b = -1.0) {
  domain t in [0, 0.2], x in [0, 1]
  field u, v
  u_t == u_xx + 3v + 3x*(1 - x)
  v_t == v_xx + b*u
  u == sin(π*x) at t = 0
  v == x*(1 - x) at t = 0
  u == 0 at x = 0, x = 1
  v == 0 at x = 0, x = 1
}
found += shared(pair(), tight(pair(0.0), fd(n = 61)), tight(pair(0.0), chebyshev(n = 20)));
# a value at a point
problem closed(level = 0.0) {
  domain x in [0, 1], y in [0, 1]
  field u
  lap(u) == cos(π*x)
  ∂n(u) == 0 at boundary
  u == level at (0, 0)
}
found += shared(closed(), solve(closed(0.1), fem(h = 0.1, order = 2)), solve(closed(0.1), fem(h = 0.05)));
problem swing(damping = 0.2) {
  domain t in [0, 10]
  field y
  y_tt + damping*y_t + sin(y) == 0
  y == 1 at t = 0
  y_t == 0 at t = 0
}
found += shared(swing(), tight(swing(0.0), dop853()), tight(swing(0.0), bdf()));
found                                   #> 20
right                                   #> 11
