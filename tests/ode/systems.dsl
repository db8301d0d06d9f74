# Problems in t: equations of any order, coefficients of the highest
# derivatives, algebraic equations, and systems of higher index.
# In a long check only: it takes half a minute.

# Second order with a mass, against the closed form. The derivative is also a
# function.
problem spring(m = 2.0, k = 3.0, c = 0.0) {
  domain t in [0, 5]
  field x
  m*x_tt + c*x_t + k*x == 0
  x == 1 at t = 0
  x_t == 0 at t = 0
}
w = sqrt(1.5)
s = solve(spring(), adams(), rtol = 1e-10, atol = 1e-12);
s.x(4.0)                     #~ cos(4w) tol 1e-8
s.x_t(4.0)                   #~ -w*sin(4w) tol 1e-8
solve(spring(), dop853(), rtol = 1e-10, atol = 1e-12).x([1.0, 4.0])  #~ cos([1.0, 4.0]*w) tol 1e-8
at4(p) = solve(spring(p[0], p[1]), bdf(), rtol = 1e-10, atol = 1e-12).x(4.0)
grad(at4)([2.0, 3.0])        #~ grad(p -> cos(4*sqrt(p[1]/p[0])))([2.0, 3.0]) tol 1e-7

# third order, and a condition that mixes derivatives
problem third() {
  domain t in [0, 2]
  field u
  u_ttt == -u_t
  u + u_t == 1 at t = 0
  u_t == 1 at t = 0
  u_tt == 0 at t = 0
}
solve(third(), bdf(), rtol = 1e-10, atol = 1e-12).u(2.0)     #~ sin(2.0) tol 1e-8

# Two masses whose accelerations occur in both equations (a nondiagonal mass
# matrix), and a mass that depends on the state.
problem coupled() {
  domain t in [0, 3]
  field x, y
  2x_tt + y_tt == -(2x + y)
  x_tt + 3y_tt == -(x + 3y)
  x == 1 at t = 0
  x_t == 0 at t = 0
  y == 0 at t = 0
  y_t == 1 at t = 0
}
c = solve(coupled(), adams(), rtol = 1e-10, atol = 1e-12);
[c.x(3.0), c.y(3.0)]         #~ [cos(3.0), sin(3.0)] tol 1e-8
problem weighted() {
  domain t in [0, 1]
  field u[2]
  (1 + t)*u_t == [u[1], -u[0]]
  u == [1, 0] at t = 0
}
solve(weighted(), dop853(), rtol = 1e-10, atol = 1e-12).u(1.0)       #~ [cos(log(2)), -sin(log(2))] tol 1e-9
# In the equations, components of u_t are in a different order.
problem crossed() {
  domain t in [0, 1]
  field u[2]
  [u_t[1], u_t[0]] == [-u[0], u[1]]
  u == [0, 1] at t = 0
}
solve(crossed(), bdf(), rtol = 1e-10, atol = 1e-12).u(1.0)   #~ [sin(1.0), cos(1.0)] tol 1e-8

# The pendulum in Cartesian coordinates (index 3), against its angle. It starts
# at rest, horizontally; λ is the force in the rod.
problem pendulum(L = 1.0, g = 9.81) {
  domain t in [0, 5]
  field x, y, λ
  x_tt == -λ*x
  y_tt == -λ*y - g
  x^2 + y^2 == L^2
  x == L at t = 0
  x_t == 0 at t = 0
  y == 0 at t = 0
  y_t == 0 at t = 0
}
problem angle(L = 1.0, g = 9.81) {
  domain t in [0, 5]
  field φ
  φ_tt == -g/L*sin(φ)
  φ == π/2 at t = 0
  φ_t == 0 at t = 0
}
p = solve(pendulum(), bdf(), rtol = 1e-10, atol = 1e-12);
φ = solve(angle(), dop853(), rtol = 1e-12, atol = 1e-13);
[p.x(5.0), p.y(5.0)]         #~ [sin(φ.φ(5.0)), -cos(φ.φ(5.0))] tol 1e-7
p.λ(5.0)                     #~ φ.φ_t(5.0)^2 + 9.81*cos(φ.φ(5.0)) tol 1e-6
p.x(5.0)^2 + p.y(5.0)^2      #~ 1 tol 1e-9
d = solve(pendulum(), dop853(), rtol = 1e-10, atol = 1e-12);
d.x(5.0)                     #~ sin(φ.φ(5.0)) tol 1e-8
(g -> solve(pendulum(1.0, g), adams(), rtol = 1e-10, atol = 1e-12).x(1.0))'(9.81)    #~ (g -> sin(solve(angle(1.0, g), dop853(), rtol = 1e-12, atol = 1e-13).φ(1.0)))'(9.81) tol 1e-6

# Index 2: the control that keeps x on a given path, and its derivative. Free
# initial values are computed.
problem path() {
  domain t in [0, 2]
  field x, y, z
  x_t == y
  y_t == z
  x == sin(t)
  x == 0 at t = 0
  y == 1 at t = 0
}
q = solve(path(), bdf(), rtol = 1e-9, atol = 1e-11);
[q.x(2.0), q.y(2.0), q.z(2.0)]       #~ [sin(2.0), cos(2.0), -sin(2.0)] tol 1e-7

# Index 1: by IDA, and by a method for y' = f that solves for z.
problem algebraic(p = 1.0) {
  domain t in [0, 1]
  field y, z
  y_t + z == 0
  z == p*y
  y == 1 at t = 0
}
solve(algebraic(), bdf(), rtol = 1e-9, atol = 1e-11).z(1.0)  #~ exp(-1.0) tol 1e-7
solve(algebraic(), dop853(), rtol = 1e-9, atol = 1e-11).z(1.0)       #~ exp(-1.0) tol 1e-8

# The partial solution of a blow-up at t = 1, and its derivative.
left(a) = ode((t, y) -> a*y^2, [1.0], (0.0, 2.0); partial = true, rtol = 1e-9, atol = 1e-11)
left(1.0).complete           #> false
left(1.0).times[-1]          #~ 1 tol 1e-6
grad(a -> left(a).y(0.5)[0])(1.0)    #~ 2 tol 1e-6
# ... by the methods of the library, too
for m in list(tsit5(), dop853(), rodas5p(), radau5(), auto()) {
  part(a) = ode((t, y) -> a*y^2, [1.0], (0.0, 2.0); method = m, partial = true, rtol = 1e-8, atol = 1e-10)
  r = part(1.0)
  print(m.name, r.complete, abs(r.times[-1] - 1) < 1e-5, abs(r.y(0.5)[0] - 2) < 2e-6,
    len(ode((t, y) -> y^2, [1.0], (0.0, 2.0); method = m, partial = true, saveat = [0.5, 1.5]).times))
}
#> tsit5 false true true 1
#> dop853 false true true 1
#> rodas5p false true true 1
#> radau5 false true true 1
#> auto false true true 1
# derivatives of the partial solution when max_steps is exhausted
for m in list(tsit5(max_steps = 15), dop853(max_steps = 15), rodas5p(max_steps = 15), radau5(max_steps = 15)) {
  part(a) = ode((t, y) -> -a*y, [1.0], (0.0, 1000.0); method = m, partial = true, rtol = 1e-8, atol = 1e-10)
  slope = -0.5 * exp(-0.5)
  print(m.name, part(1.0).complete, abs(grad(a -> part(a).y(0.5)[0])(1.0) - slope) < 1e-6, abs(jvp(a -> part(a).y(0.5)[0], 1.0, 1.0)[1] - slope) < 1e-6)
}
#> tsit5 false true true
#> dop853 false true true
#> rodas5p false true true
#> radau5 false true true
late = (t, y) -> [-1e4 * (y[0] - cos(t)), if t < 3 { 0.0 } else { y[1]^2 }]
r = ode(late, [0.0, 1.0], (0.0, 5.0); method = auto(), partial = true);
(r.complete, abs(r.times[-1] - 4) < 1e-4)    #> (false, true)
# The solution ends at a terminal event before the point where the method would
# give up.
ode((t, y) -> y^2, [1.0], (0.0, 2.0); events = event((t, y) -> y[0] - 10; terminal = true), method = dop853()).times[-1]     #~ 0.9 tol 1e-5
# There are no values after the end of a solution.
ode((t, y) -> [y[1], -9.81], [10.0, 0], (0.0, 5.0); events = event((t, y) -> y[0]; terminal = true), saveat = [0.5, 1.0, 3.0]).times    #> [0.5, 1]

# ---- many unknowns with sparse equations: IDA's Jacobian uses the pattern
n = 60
# Diffusion with a storage term that is nonlinear in the rate, and a flux as an
# unknown.
problem storage(k, start) {
  domain t in [0, 1]
  field u[n], w[n]
  u_t + 0.1*u_t^3 == k * (concat(w[1..], [0.0]) - 2w + concat([0.0], w[..-1])) + 1
  w == u + 0.1 * sin(u)
  u == start * ones(n) at t = 0
}
stored(k) = solve(storage(k, 0.3), bdf(); rtol = 1e-8, atol = 1e-10, saveat = [1.0]).values[0, ..n]
# the same with the rate in closed form
rate(k) = (t, u) -> {
  w = u + 0.1 * sin(u)
  2 / sqrt(0.3) * sinh(asinh(1.5 * sqrt(0.3) * (k * (concat(w[1..], [0.0]) - 2w + concat([0.0], w[..-1])) + 1)) / 3)
}
alone(k) = ode(rate(k), 0.3 * ones(n), (0.0, 1.0); method = dop853(), rtol = 1e-10, atol = 1e-12, saveat = [1.0]).values[0]
stored(3.0)                         #~ alone(3.0) tol 1e-6
stored'(3.0)                        #~ alone'(3.0) tol 1e-5
grad(k -> sum(stored(k)))(3.0)      #~ sum(alone'(3.0)) tol 1e-5
solve(storage(3.0, 0.3), bdf(); rtol = 1e-8, atol = 1e-10, partial = true).values[-1, ..n]    #~ alone(3.0) tol 1e-6
# with a matrix that determines the pattern, and a derivative with respect to it
near = zeros(n, n)
for i in 0..n { near[i, i] = -2.0; if i > 0 { near[i, i - 1] = 1.0; near[i - 1, i] = 1.0 } }
problem joined(A) {
  domain t in [0, 1]
  field u[n], w[n]
  u_t + 0.1*u_t^3 == A @ w + 1
  w == u + 0.1 * sin(u)
  u == zeros(n) at t = 0
}
by_matrix(A) = sum(solve(joined(A), bdf(); rtol = 1e-8, atol = 1e-10, saveat = [1.0]).values[0, ..n])
by_matrix(near)                     #~ sum(solve(storage(1.0, 0.0), bdf(); rtol = 1e-8, atol = 1e-10, saveat = [1.0]).values[0, ..n]) tol 1e-7
more = zeros(n, n)
more[10, 40] = 1.0
grad(s -> by_matrix(near + s * more))(0.0)     #~ (by_matrix(near + 1e-3 * more) - by_matrix(near - 1e-3 * more)) / 2e-3 tol 1e-5

# ---- consistent initial values
# Rates follow from the equations; values may be far from the guess.

# An algebraic unknown that starts at rest, with derivatives, backward in time,
# and with a pattern.
problem driven(p = 1.0) {
  domain t in [0, 10]
  field x, z
  x_t == z
  z == p*sin(t)
  x == 0 at t = 0
}
solve(driven()).x(10.0)              #~ 1 - cos(10.0) tol 1e-4
solve(driven(5.0), t = (0.0, 2.0)).x(2.0)    #~ 5*(1 - cos(2.0)) tol 1e-5
solve(driven(), t = (0.0, -3.0)).x(-3.0)     #~ 1 - cos(3.0) tol 1e-4
by_p(p) = solve(driven(p), rtol = 1e-8, atol = 1e-10).x(2.0)
by_p'(1.3)                           #~ 1 - cos(2.0) tol 1e-6
grad(p -> by_p(p[0]) + p[1])([1.3, 0.0])     #~ [1 - cos(2.0), 1] tol 1e-6
many = 40
problem in_line {
  domain t in [0, 3]
  field x[many], z[many]
  x_t == z
  z + 0.1*z^3 == sin(t)*ones(many)
  x == zeros(many) at t = 0
}
problem of_them {
  domain t in [0, 3]
  field x
  x_t + 0.1*x_t^3 == sin(t)
  x == 0 at t = 0
}
solve(in_line).x(3.0)[7]             #~ solve(of_them, rtol = 1e-9, atol = 1e-11).x(3.0) tol 1e-4
# ... after an event, too: z jumps with x and continues with a new rate
problem kicked {
  domain t in [0, 3]
  field x, z
  x_t == z
  z + 0.1*z^3 == sin(t)
  x == 0 at t = 0
  event half: t - 1 rising { x = x + 1 }
}
solve(kicked).x(3.0)                 #~ solve(of_them, rtol = 1e-9, atol = 1e-11).x(3.0) + 1 tol 1e-4
# from guesses on both sides of the roots of w^2 == x
problem rooted(guess) {
  domain t in [0, 1]
  field x, w
  x_t == -x
  w^2 == x
  x == 4 at t = 0
  w == guess at t = 0
}
map(g -> solve(rooted(g)).w(1.0), [0.5, 1.0, 1e-3, 100.0, -0.5])     #~ 2*exp(-0.5)*[1, 1, 1, 1, -1] tol 1e-5

# ---- a mass matrix that is singular at a trial stage: the step is rejected
# Two stages of a transistor amplifier: p = b - a and q = e - d eliminated,
# SciPy's Radau, 1e-9.
diode(x) = 1e-6*(exp(x/0.026) - 1)
problem stage(R = 9000.0, U = 6.0, α = 0.99) {
  domain t in [0, 0.1]
  field a, b, c, d, e
  v = 0.4*sin(200π*t)
  i = diode(b - c)
  1e-6*(b_t - a_t) == (a - v)/1000
  0 == (a - v)/1000 - U/R + 2b/R - (α - 1)*i
  2e-6*c_t == i - c/R
  3e-6*(e_t - d_t) == d/R - U/R + α*i
  0 == d/R - U/R + α*i + e/R
  a == 0 at t = 0
  b == 3 at t = 0
  c == 3 at t = 0
  d == 6 at t = 0
  e == 0 at t = 0
}
solve(stage(), rtol = 5e-4, atol = 5e-6).e(0.1)      #~ -1.92526749 tol 0.01

# ---- equations are algebraic by component and row, not by field

# the second component of a vector
problem split(k) {
  domain t in [0, 1]
  field y[2]
  [y_t[0], 0] == [-k*y[0], 3y[0] - y[1]]
  y == [1, 3] at t = 0
}
for m in list(auto(), bdf(), adams()) {
  s = solve(split(2.0), m, rtol = 1e-8, atol = 1e-10)
  assert(norm(s.y(1.0) - [exp(-2), 3*exp(-2)]) < 1e-6, "{m.name}: {s.y(1.0)}")
  assert(norm(s.y(0.3) - exp(-0.6)*[1, 3]) < 1e-6, "{m.name}, inside: {s.y(0.3)}")
}
solve(split(2.0), saveat = [0.5, 1.0]).values        #~ [exp(-1), 3*exp(-1); exp(-2), 3*exp(-2)] tol 1e-5
second(k) = solve(split(k), rtol = 1e-8, atol = 1e-10).y(1.0)[1]
second'(2.0)                         #~ -3*exp(-2.0) tol 1e-5
grad(p -> second(p[0]))([2.0])       #~ [-3*exp(-2.0)] tol 1e-5
# A mass matrix of rank 1: twice the first row less the second is 0 == 1 - y[1],
# so y[1] = 1 and y[0] = exp(-t).
problem of_rank_1 {
  domain t in [0, 1]
  field y[2]
  [1.0, 1; 2, 2] @ y_t == [-y[0], -2y[0] + y[1] - 1]
  y == [1, 1] at t = 0
}
solve(of_rank_1).y(1.0)              #~ [exp(-1), 1] tol 1e-5
# Rank 2 with three unknowns: the third row less the others is 0 == y[2] + y[0]
# - 2; then 2*y[1]' = -y[1] and y[0]' + y[1]' = -y[0].
problem of_rank_2 {
  domain t in [0, 1]
  field y[3]
  [1.0, 1, 0; 1, 2, 1; 2, 3, 1] @ y_t == [-y[0], -y[1], -y[0] - y[1] + y[2] + y[0] - 2]
  y == [2, 2, 0] at t = 0
}
solve(of_rank_2, rtol = 1e-9, atol = 1e-11).y(1.0)   #~ [2*exp(-0.5), 2*exp(-0.5), 2 - 2*exp(-0.5)] tol 1e-6
# A matrix that depends on the state, and an unknown whose rate occurs in no
# equation.
problem by_state {
  domain t in [0, 1]
  field y[2]
  [(1 + y[1])*y_t[0], 0] == [-y[0]*(1 + y[1]), y[1] - y[0]]
  y == [1, 1] at t = 0
}
solve(by_state).y(1.0)               #~ exp(-1.0)*[1, 1] tol 1e-5
# Scalar equations for the components of a vector, in any order, with an
# algebraic one among them.
problem circle {
  domain t in [0, 1]
  field y[2]
  y_t[1] == y[0]
  y_t[0] == -y[1]
  y == [1, 0] at t = 0
}
for m in list(auto(), bdf(), dop853(), radau5()) {
  assert(norm(solve(circle, m, rtol = 1e-8, atol = 1e-10).y(1.0) - [cos(1.0), sin(1.0)]) < 1e-6, m.name)
}
problem mixed {
  domain t in [0, 1]
  field y[2], z
  y_t[0] == -2y[0]
  y[1] == 3y[0] + z
  z_t == -z
  y == [1, 0] at t = 0
  z == 1 at t = 0
}
solve(mixed, rtol = 1e-8, atol = 1e-10).y(1.0)       #~ [exp(-2), 3exp(-2) + exp(-1)] tol 1e-6
