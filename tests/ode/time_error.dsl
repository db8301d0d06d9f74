# The error estimates of problems in t, against much finer reference solutions:
# for all methods, small states, events and output times. A large estimate is an
# error.

# A stiff reaction of eight species with two end times, against Radau IIA of
# order 13 at 1e-12, which agrees with SciPy's Radau. The estimate is at least a
# third of the error at the end.
problem light(c, k, T) {
  domain t in [0, T]
  field y[8]
  r = k*y[5]*y[7]
  growth = [-1.71y[0] + 0.43y[1] + 8.32y[2] + c, 1.71y[0] - 8.75y[1]]
  middle = [0.43y[3] + 0.035y[4] - 10.03y[2], 8.32y[1] + 1.71y[2] - 1.12y[3]]
  late = [0.43*(y[5] + y[6]) - 1.745y[4], 0.69*(y[3] + y[6]) + 1.71y[4] - 0.43y[5] - r]
  y_t == concat(growth, middle, late, [r - 1.81y[6], 1.81y[6] - r])
  y == [1, 0, 0, 0, 0, 0, 0, 0.0057] at t = 0
}
end_of(p) = solve(p, radau(order = 13), rtol = 1e-12, atol = 1e-15, estimate = false).values[-1]
# estimate/error at the end
share(p, right, m, r) = {
  s = solve(p, m, rtol = r, atol = 1e-2r)
  s.error * norm(right) / norm(s.values[-1] - right)
}
for (c, k, T) in list((0.001, 300.0, 300.0), (0.0007, 280.0, 321.8)) {
  right = end_of(light(c, k, T))
  for m in list(auto(), bdf(), radau5(), rodas5p()) {
    for r in list(1e-6, 1e-8) {
      q = share(light(c, k, T), right, m, r)
      assert(q > 0.6 and q < 3, "{m.name} at {r}, to {T}: {q}")
    }
  }
}

# Not stiff: a pendulum, and the Lorenz equations to t = 8.
problem swing {
  domain t in [0, 30]
  field φ
  φ_tt == -sin(φ)
  φ == 2 at t = 0
  φ_t == 0 at t = 0
}
problem lorenz(T) {
  domain t in [0, T]
  field u[3]
  u_t == [10(u[1] - u[0]), u[0]*(28 - u[2]) - u[1], u[0]*u[1] - 8/3*u[2]]
  u == [1, 0, 0] at t = 0
}
for p in list(swing, lorenz(8.0)) {
  right = solve(p, dop853(), rtol = 1e-13, atol = 1e-15, estimate = false).values[-1]
  for m in list(auto(), dop853(), tsit5(), adams(), bdf(), radau5()) {
    q = share(p, right, m, 1e-7)
    assert(q > 0.6 and q < 5, "{m.name}: {q}")
  }
}

# Fixed steps: the estimate compares with half the steps.
problem decay(T, k = 2.0) {
  domain t in [0, T]
  field u
  u_t == -k*u
  u == 1 at t = 0
}
for m in list(rk4(0.1), euler(0.001)) {
  q = share(decay(1.0), [exp(-2.0)], m, 1e-6)
  assert(q > 0.9 and q < 2.3, "{m.name}: {q}")
}
solve(decay(1.0), rk4(0.1)).error            #~ 6e-5 tol 2e-5
# the pendulum by position and momentum
problem orbit {
  domain t in [0, 50]
  field q, p
  q_t == p
  p_t == -sin(q)
  q == 1 at t = 0
  p == 0 at t = 0
}
of_orbit = solve(orbit, dop853(), rtol = 1e-13, atol = 1e-15).values[-1]
q = share(orbit, of_orbit, symplectic(0.02; order = 4), 1e-6)
(q > 0.9, q < 6)                             #> (true, true)

# Output times, backward in time, an algebraic equation, a terminal event, and
# one that changes the state.
solve(decay(1.0), saveat = [0.5, 1.0]).error < 1e-5          #> true
solve(decay(1.0), saveat = [1.0]).error > 0                  #> true
solve(decay(1.0), t = (0.0, -1.0)).error < 1e-5              #> true
problem algebraic {
  domain t in [0, 5]
  field x, z
  x_t == -z
  z + 0.1*z^3 == x
  x == 1 at t = 0
}
right = solve(algebraic, bdf(), rtol = 1e-11, atol = 1e-13, estimate = false).values[-1]
q = share(algebraic, right, bdf(), 1e-6)
(q > 1/3, q < 10)                            #> (true, true)
problem ball {
  domain t in [0, 9.5]
  field h
  h_tt == -9.81
  h == 10 at t = 0
  h_t == 0 at t = 0
  event impact: h falling { h_t = -0.8*h_t }
  event top: h_t falling
}
solve(ball, rtol = 1e-9, atol = 1e-11).error < 1e-6          #> true
# Regression test, found by this estimate: at some tolerances an impact was
# detected twice, and the ball fell through the floor.
for r in [1e-12, 1.1e-12, 1.2e-12, 1.5e-12, 1e-11, 1e-8] {
  s = solve(ball, bdf(), rtol = r, atol = 1e-2r)
  assert(len(s.events.impact.times) == 6 and s.error < 1e-5, "{r}: {len(s.events.impact.times)} impacts, {s.error}")
}

# An estimate above 30 % is an error, unless partial = true. With estimate =
# false there is none.
long = lorenz(60.0)
try { str(solve(long).error) } catch m { m[..32] }           #> the solution of lorenz is off by
(solve(long, estimate = false).error, solve(long, partial = true).error > 0.3)       #> (none, true)
# The error of a solution that decays below atol is relative to its actual
# value.
s = solve(decay(10.0), bdf());
abs(s.u(10.0)/exp(-20.0) - 1) < 3*s.error    #> true

# in functions, derivatives and maps
at1(k) = solve(decay(1.0, k), rtol = 1e-9, atol = 1e-11).u(1.0)
at1'(2.0)                                    #~ -exp(-2.0) tol 1e-7
grad(p -> at1(p[0]) + p[1])([2.0, 1.0])      #~ [-exp(-2.0), 1] tol 1e-7
map(k -> solve(decay(1.0, k), tsit5(), saveat = [1.0]).values[0, 0], [1.0, 2.0])     #~ exp(-[1.0, 2.0]) tol 1e-5

# ---- states far below the usual atol: the default atol adapts to them
r = ode((t, y) -> -y/1e-15, [1e-20], (0.0, 3e-15));
r.y(3e-15)[0]/(1e-20*exp(-3))                #~ 1 tol 1e-5
map(q -> ode((t, y) -> -y/1e-15, [1e-20q], (0.0, 3e-15); saveat = [3e-15]).values[0, 0], [1.0, 2.0])/1e-20   #~ [1, 2]*exp(-3) tol 1e-5
problem tiny {
  domain t in [0, 3]
  field u
  u_t == -u*(1 + u)
  u == 1e-18 at t = 0
}
solve(tiny).u(3.0)/(1e-18*exp(-3))           #~ 1 tol 1e-5
# Growth from a tiny value: the logistic equation, 1/(1 + (1/y0 - 1)*exp(-t)).
ode((t, y) -> y*(1 - y), [1e-12], (0.0, 30.0)).y(30.0)[0]    #~ 1/(1 + (1e12 - 1)*exp(-30)) tol 1e-4

# ---- steps of a few ulps of t: no rows of NaN
# A + B <-> C with k = 2e-3, q = 3e-9. At the end, k*(a - c)*(b - c) == q*c.
slow = ode((t, c) -> { v = 2e-3*c[0]*c[1] - 3e-9*c[2]; [-v, -v, v] }, [2e-5, 1e-5, 0.0], (0.0, 2e11));
all(isfinite(slow.values))                   #> true
2e-3*slow.values[-1, 0]*slow.values[-1, 1] - 3e-9*slow.values[-1, 2]         #~ 0 tol 1e-17
slow.stats.steps < 100                       #> true

# ---- late clocks
# At 1e12 s, times are rounded to 1e-4 s while the solution relaxes in 1e-3 s.
# The end value is as accurate as from 0.
for a in [0.0, 1e9, 1e12] {
  for m in list(auto(), rodas5p(), radau5()) {
    r = ode((t, y) -> [-1e3*(y[0] - sin(1e-3*(t - a)))], [1.0], (a, a + 1e4); method = m)
    assert(abs(r.values[-1][0] - sin(10.0)) < 1e-5 and r.times[0] == a and r.times[-1] == a + 1e4, "{m.name} from {a}")
  }
}
turn = ode((t, y) -> [y[1], -y[0]], [0.0, 1.0], (1e9, 1e9 + 10); saveat = [1e9 + 1, 1e9 + 10], rtol = 1e-9);
turn.values[.., 0]                           #~ [sin(1.0), sin(10.0)] tol 1e-6
turn.times - 1e9                             #> [1, 10]
# derivatives with respect to a parameter and to the initial time
falls(p) = ode((t, y) -> [-p*y[0]], [1.0], (1e9, 1e9 + 1); rtol = 1e-9, atol = 1e-11, saveat = [1e9 + 1]).values[0, 0]
falls'(2.0)                                  #~ -exp(-2.0) tol 1e-7
grad(p -> falls(p[0]))([2.0])                #~ [-exp(-2.0)] tol 1e-7
since(t0) = ode((t, y) -> [t - 1e9], [0.0], (t0, 1e9 + 1); rtol = 1e-9, atol = 1e-11).values[-1, 0]
since'(1e9 + 0.5)                            #~ -0.5 tol 1e-5
# Errors state the time on the problem's clock.
try { str(ode((t, y) -> y^2, [1.0], (1e9, 1e9 + 2); method = rodas5p()).y(1e9 + 2)) } catch m { m[..40] }    #> no solution beyond t = 1000000001.000000

# ---- long implicit steps, accurate at their ends: errors between them count
problem slaved {
  domain t in [0, 1e4]
  field y
  y_t == -1e3*(y - sin(1e-3*t))
  y == 1 at t = 0
}
τ = linspace(0.001, 10.0, 500)
of_slaved = (sin(τ) - 1e-6*cos(τ))/(1 + 1e-12)
for m in list(rodas5p(), bdf()) {
  s = solve(slaved, m)
  e = norm(s.y(1e3*τ) - of_slaved)/norm(of_slaved)
  assert(e < 3*s.error and s.error < 30*e, "{m.name}: {e}, {s.error}")
}

# ---- a solution that is not finite is an error with place and time
# For every method, including one defined by the user.
by_slopes(m, f, jac, y0, t0, t1, o) = {
  h = (t1 - t0)/m.steps
  Y = zeros(m.steps + 1, len(y0))
  Y[0] = y0
  for k in 0..m.steps { Y[k + 1] = Y[k] + h*f(t0 + k*h, Y[k]) }
  counts = (steps = m.steps, rhs = m.steps, jacobians = 0, factorisations = 0, error_test_failures = 0, newton = 0,
    newton_failures = 0)
  (t0 + h*iota(m.steps + 1), Y, counts)
}
own(steps) = (name = "own", degree = 1, steps = steps, integrate = by_slopes)
try { str(ode((t, y) -> [1.0, y[1]^2], [0.0, 1.0], (0.0, 30.0); method = own(100)).y(2.0)) } catch m { m }
#> the solution is not finite at t = 4.2, where number 1 of it is inf
ode((t, y) -> [1.0, -y[1]], [0.0, 1.0], (0.0, 1.0); method = own(100)).values[-1, 0]     #~ 1 tol 1e-12

# Between the rows of few long steps, the error of an implicit method exceeds
# that at their ends; the estimate includes it.
problem relaxes {
  domain t in [0, 100]
  field u
  u_t == 0.0359cos(0.0359t) + 77.6*(max(sin(0.0359t) + 0.06, 0.0) - max(u - 1.14, 0.0))
  u == 1.2 at t = 0
}
s = solve(relaxes);
T = linspace(1, 100, 200)
off = norm(s.u(T) - sin(0.0359T) - 1.2)/norm(sin(0.0359T) + 1.2)
off < 2*s.error                  #> true

# A field that jumps slightly late: its values are right except in a few steps,
# but its derivative there is not. Short steps at a jump represent only their
# own part of the interval.
problem relaxation(μ, T) {
  domain t in [0, T]
  field y
  y_tt == μ*(1 - y^2)*y_t - y
  y == 2 at t = 0
  y_t == 0 at t = 0
}
relaxed = solve(relaxation(1000.0, 2000.0), bdf())
(abs(relaxed.y(2000.0) - 1.706167732170) < 1e-3)                        #> true
