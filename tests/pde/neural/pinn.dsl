# Networks on problems in several coordinates, systems and vector fields, with
# conditions imposed exactly and as penalty rows, against closed forms.
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

r = linspace(0, 1, 21)
rel(a, b) = norm(a - b) / norm(b)

# ---- two space coordinates, no time: all four faces imposed exactly
problem poisson() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == -2π^2*sin(π*x)*sin(π*y)
  u == 0 at x = 0, x = 1, y = 0, y = 1
}
exact = sin(π*expand(r, 1))*sin(π*r)
s = solve(poisson(), pinn((32,), 400; steps = 50, refine = 0));
rel(s.u(expand(r, 1), r), exact) < 5e-6  #> true
s.u(0.3, 1.0)  #~ 0 tol 1e-14
# Geodesic correction: a far lower loss than steps along straight lines.
s.stats.loss < 1e-6  #> true

# Values that vary along the faces and agree at the corners.
problem laplace() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == 0
  u == exp(x)*cos(y) at x = 0, x = 1, y = 0, y = 1
}
l = solve(laplace(), pinn((16,), 300; steps = 30, refine = 0));
rel(l.u(expand(r, 1), r), exp(expand(r, 1))*cos(r)) < 1e-6  #> true
l.u(1.0, 0.7)  #~ exp(1)*cos(0.7) tol 1e-12

# Incompatible corners become penalty rows: u is 1 on one face and 0 on the
# others.
problem step() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == 0
  u == 1 at x = 0
  u == 0 at x = 1, y = 0, y = 1
}
j = solve(step(), pinn((16,), 200; boundary = 50, steps = 15, refine = 0));
abs(j.u(0.5, 0.5) - 0.25) < 0.02  #> true

# A Neumann face is a penalty row beside values imposed exactly.
problem slope() {
  domain x in [0, 1], y in [0, 1]
  field u
  u_xx + u_yy == 0
  u == exp(x)*cos(y) at x = 0, y = 0, y = 1
  u_x == exp(1.0)*cos(y) at x = 1
}
n = solve(slope(), pinn((16,), 300; boundary = 40, steps = 40, refine = 0));
rel(n.u(expand(r, 1), r), exp(expand(r, 1))*cos(r)) < 1e-5  #> true
n.u(0.4, 1.0)  #~ exp(0.4)*cos(1) tol 1e-12

# ---- second order in time: value and rate imposed exactly
problem wave() {
  domain t in [0, 1], x in [0, 1]
  field u
  u_tt == u_xx
  u == sin(π*x) at t = 0
  u_t == 0 at t = 0
  u == 0 at x = 0, x = 1
}
w = solve(wave(), pinn((24, 24), 500; steps = 40, refine = 0));
rel(w.u(expand(r, 1), r), sin(π*r)*cos(π*expand(r, 1))) < 1e-3  #> true
w.u(0.0, 0.5)  #~ 1 tol 1e-12
∂(w.u, 0)(0.0, 0.3)  #~ 0 tol 1e-10

# ---- a system: Kovasznay's flow
problem kovasznay(Re = 20.0) {
  domain x in [-0.5, 1], y in [-0.5, 1.5]
  field u, v, p
  λ = Re/2 - sqrt(Re^2/4 + 4π^2)
  u*u_x + v*u_y + p_x == (u_xx + u_yy)/Re
  u*v_x + v*v_y + p_y == (v_xx + v_yy)/Re
  u_x + v_y == 0
  u == 1 - exp(λ*x)*cos(2π*y) at x = -0.5, x = 1, y = -0.5, y = 1.5
  v == λ/(2π)*exp(λ*x)*sin(2π*y) at x = -0.5, x = 1, y = -0.5, y = 1.5
  p == (1 - exp(2λ*x))/2 at x = 1
}
λ = 10 - sqrt(100 + 4π^2)
(x, y) = (expand(linspace(-0.5, 1, 21), 1), linspace(-0.5, 1.5, 21))
k = solve(kovasznay(), pinn((12, 12), 250; steps = 30, refine = 0));
rel(k.u(x, y), 1 - exp(λ*x)*cos(2π*y)) < 1e-2  #> true

# ---- a symmetry with time
# An odd initial function stays odd under Burgers' equation. Half of the points
# follow the front.
problem steepening(ν = 0.05/π) {
  domain t in [0, 1], x in [-1, 1] periodic
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
}
cole_hopf(t, x; ν = 0.05/π) = {
  η = linspace(-1, 1, 2001) * (2.2 + 7*sqrt(4ν*t))
  y = expand(x, 1) - η
  g = -cos(π*y)/(2π*ν) - η^2/(4ν*t)
  E = exp(g - max(g; axis = 1, keepdims = true))
  -sum(sin(π*y)*E; axis = 1) / sum(E; axis = 1)
}
late = linspace(0.1, 1, 10)
b = solve(steepening(), pinn([12, 12], 600; steps = 60, refine = 15));
b.u(0.7, 0.3) + b.u(0.7, -0.3)  #~ 0 tol 1e-14
rel(b.u(expand(late, 1), linspace(-1, 1, 101)), map(t -> cole_hopf(t, linspace(-1, 1, 101)), late)) < 5e-4  #> true

# ---- resampled points of conditions
# A kink at the ends of a periodic interval is approximated more closely than
# with the initial points.
problem kink() {
  domain t in [0, 1], x in [-1, 1] periodic
  field u
  u_t == 0.01u_xx
  u == x^2 at t = 0
}
near = linspace(0.9, 1, 51)
off(refine) = max(abs(solve(kink(), pinn([12, 12], 600; boundary = 60, steps = 60, refine = refine)).u(0.0, near) - near^2))
off(15) < 0.8*off(0)  #> true
