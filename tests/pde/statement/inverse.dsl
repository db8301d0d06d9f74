# inverse.dsl - parameters of problems from data: fit(problem, data; for = ...).
# As users run it only: compiling all of it takes long.
# In a long check only: it takes half a minute.

problem diffusion(D = 0.1, v = 0.0) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + v*u_x == ∂x(D*u_x)
  u == exp(-(x + 0.5)^2 / 0.04) at t = 0
  u == 0 at x = -1, x = 1
}
seed(2)
exact = solve(diffusion(0.05, 0.4), chebyshev(60), rtol = 1e-9, atol = 1e-11);
t = rand(60)
x = 2rand(60) - 1
data = (t = t, x = x, u = exact.u(t, x) + 0.01randn(60))
# Both parameters, starting from the problem's own values. The noise is 1 % of
# the largest value.
r = fit(diffusion, data, for = (D, v), by = fd(n = 81), progress = false)
assert(abs(r.D - 0.05) < 4r.std.D and abs(r.v - 0.4) < 4r.std.v, "{r.D} {r.v}")
assert(r.std.D < 2e-3 and r.std.v < 1e-2, "{r.std}")
assert(abs(r.deviation - 0.01) < 3e-3, "{r.deviation}")
keys(r.p)                     #> ("D", "v")
# Another method gives the same: they differ by less than the effect of the
# noise.
q = fit(diffusion, data, for = (D, v), by = chebyshev(30), progress = false)
assert(abs(q.D - r.D) < 0.2r.std.D and abs(q.v - r.v) < 0.2r.std.v, "{q.D} {r.D}")
# One parameter, with the other known. A single name needs no brackets; a
# string, or a tuple of strings as `unknowns`, is equivalent.
one = fit(diffusion(v = 0.4), data, for = D, by = fd(n = 81), progress = false)
keys(one.p)                   #> ("D",)
assert(abs(one.D - 0.05) < 4one.std.D, "{one.D}")
assert(one.std.D <= r.std.D * 1.01, "{one.std.D}")
keys(fit(diffusion(v = 0.4), data, for = "D", by = fd(n = 41), progress = false).p)    #> ("D",)
other = fit(diffusion(v = 0.4), data, unknowns = ("D",), by = fd(n = 81), progress = false)
assert(abs(other.D / one.D - 1) < 1e-12)
# the solution with the fitted parameters
assert(abs(r.solution.u(0.5, -0.2) - exact.u(0.5, -0.2)) < 0.01)

# A system with measurements of one unknown: all parameters, from a given start,
# and sigma for each unknown.
problem reaction(k1, k2) {
  domain t in [0, 10]
  field a, b
  a_t == -k1*a
  b_t == k1*a - k2*b
  a == 1 at t = 0
  b == 0 at t = 0
}
times = linspace(0.5, 10, 20)
b = 0.7 / (0.2 - 0.7) * (exp(-0.7times) - exp(-0.2times))
s = fit(reaction, (t = times, b = b); start = (k1 = 1.0, k2 = 0.1), by = dop853(), sigma = (b = 0.01,), progress = false)
s.p                           #~ (k1 = 0.7, k2 = 0.2) tol 1e-6

# An unknown part of the right-hand side is a network, which fit() trains.
seed(1)
net = mlp([1, 6, 1])
problem growth(w) {
  domain t in [0, 6]
  field u
  u_t == u * apply(net, w, stack(u))[0]
  u == 0.1 at t = 0
}
rate(u) = (1 - u) / (1 + u^2)
problem truth { domain t in [0, 6]; field u; u_t == u*rate(u); u == 0.1 at t = 0 }
seen = solve(truth, rtol = 1e-10, atol = 1e-12)
tt = linspace(0.2, 6, 30)
learnt = fit(growth, (t = tt, u = seen.u(tt)); start = (w = net.weights), steps = 60, progress = false)
grid = linspace(0.15, 0.9, 16)
found = map(u -> apply(net, learnt.p.w, stack(u))[0], grid)
assert(max(abs(found - map(rate, grid))) < 5e-3, "{max(abs(found - map(rate, grid)))} {learnt.chi2} {learnt.iterations}")

# With conditions imposed exactly, there are no collocation points for them.
problem cools(k = 1.0) {
  domain t in [0, 4]
  field u
  u_t == -k*(u - 0.2)
  u == 1 at t = 0
}
seen = linspace(0.2, 4, 20)
fit(cools, (t = seen, u = 0.2 + 0.8exp(-0.7seen)); by = pinn((10,), 60; steps = 60, hard = true), progress = false).k      #~ 0.7 tol 1e-4

# ---- trial parameters without a solution are rejected
# A step to a negative diffusivity, and a pole inside the data, also at the
# initial parameters.
problem spreading(D = 0.5) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == D*u_xx
  u == sin(π*x) + sin(3π*x) at t = 0
  u == 0 at x = 0, x = 1
}
at_t = [0.2, 0.5, 0.9]
at_x = [0.3, 0.4, 0.6]
seen_u = exp(-0.02π^2*at_t)*sin(π*at_x) + exp(-0.18π^2*at_t)*sin(3π*at_x)
fit(spreading, (t = at_t, x = at_x, u = seen_u); by = fd(n = 61), progress = false).D    #~ 0.02 tol 1e-4
problem growth(r = 3.0) {
  domain t in [0, 2]
  field y
  y_t == r*y^2 - y
  y == 1 at t = 0
}
at_t = linspace(0.2, 2, 10)
fit(growth, (t = at_t, y = 1/(0.9 + 0.1*exp(at_t))); progress = false).r                 #~ 0.9 tol 1e-5
fit(growth(0.5), (t = at_t, y = 1/(0.9 + 0.1*exp(at_t))); progress = false).r            #~ 0.9 tol 1e-5
# If no nearby parameters have a solution, the error is that of solve().
problem never(r = 3.0) {
  domain t in [0, 2]
  field y
  y_t == (100 + r^2)*y^2
  y == 1 at t = 0
}
try { fit(never, (t = at_t, y = at_t); progress = false).r < 0 } catch e { contains(e, "no solution beyond") }    #> true
