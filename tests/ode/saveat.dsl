# Solutions at chosen times: exact there; between them, a cubic through the four
# nearest, or an error where those do not determine the value.
problem decay(k) {
  domain t in [0, 3]
  field a
  a_t == -k*a
  a == 1 at t = 0
}
at(times) = solve(decay(1.0), bdf(), saveat = times, rtol = 1e-10, atol = 1e-12)
tol = 1e-8

one = at([1.0])
abs(one.a(1.0) - exp(-1.0)) < tol                              #> true
try { str(one.a(2.0)) } catch m { m }                          #> the solution is known for t from 1 to 1, and does not say how things are at 2
two = at([1.0, 3.0])
abs(two.a(3.0) - exp(-3.0)) < tol                              #> true
try { str(two.a(2.0)) } catch m { m[..54] }                    #> the solution was saved at 2 times, and between them it 
three = at([0.5, 1.0, 2.0])
max(abs(three.a([0.5, 1.0, 2.0]) - exp(-[0.5, 1.0, 2.0]))) < tol    #> true
many = at(linspace(0, 3, 61))
points = linspace(0.05, 2.95, 40)
max(abs(many.a(points) - exp(-points))) < 1e-6                 #> true
abs(grad(t -> many.a(t))(1.23) + exp(-1.23)) < 1e-4            #> true

# A wave saved three times a period, and fifty times; and its values at the
# saved times.
swing(n) = ode((t, y) -> [y[1], -y[0]], [0.0, 1], (0.0, 20.0); saveat = linspace(0.0, 20.0, n), rtol = 1e-9, atol = 1e-11)
rare = swing(11);
rare.y([0.0, 2.0, 20.0])[.., 0]                                #~ sin([0.0, 2, 20]) tol 1e-7
rare.y(6.0 + 1e-15)[0]                                         #~ sin(6.0) tol 1e-7
try { str(rare.y(1.0)) } catch m { contains(m, "save more of them, or leave saveat out") }      #> true
try { str(map(t -> rare.y(t)[0], [2.0, 3.0])) } catch m { contains(m, "save more of them, or leave saveat out") }      #> true
swing(161).y(linspace(0.0, 20.0, 77))[.., 0]                   #~ sin(linspace(0.0, 20.0, 77)) tol 2e-4
# With delays and events, the function is the solution itself.
dde((t, y, Z) -> -y, [1.0], (0.0, 2.0); lags = 1.0, saveat = [2.0], rtol = 1e-9).y(1.0)      #~ [exp(-1)] tol 1e-7

# a derivative with respect to a parameter, at a saved time
abs(grad(k -> solve(decay(k), adams(), saveat = [1.0, 3.0], rtol = 1e-10, atol = 1e-12).a(3.0))(2.0) + 3*exp(-6.0)) < tol    #> true

# backward in time
back = solve(decay(1.0), bdf(), t = (0, -1), saveat = [-0.25, -0.5, -0.75, -1.0], rtol = 1e-10, atol = 1e-12)
abs(back.a(-0.75) - exp(0.75)) < tol                           #> true
abs(back.a(-0.6) - exp(0.6)) < 1e-3                            #> true

# a field of x
problem heat() {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
h = solve(heat(), chebyshev(n = 20), saveat = linspace(0, 0.1, 21), rtol = 1e-9, atol = 1e-11)
abs(h.u(0.05, 0.5) - exp(-π^2*0.05)) < 1e-7                    #> true
abs(h.u(0.0333, 0.5) - exp(-π^2*0.0333)) < 1e-5                #> true

# ---- more times than constant extents allow, under map

at = linspace(0.1, 2.0, 20)
way(m, x0) = ode((t, y) -> [-y[0] * y[1], y[0] - y[1]], [x0, 1.0], (0.0, 2.0); method = m, rtol = 1e-8, atol = 1e-10, saveat = at).values
for m in list(auto(), tsit5(), dop853(), rodas5p(), radau5(), bdf(), rk4(0.01)) {
  xs = [0.5, 1.0, 4.0]
  all = map(x0 -> way(m, x0), xs)
  assert(shape(all) == (3, 20, 2), m.name)
  for i in 0..3 { assert(max(abs(all[i] - way(m, xs[i]))) < 1e-8, "{m.name}: each lane of a map is the solution by itself") }
}
slopes = map(x0 -> jvp(x -> sum(way(auto(), x)), x0, 1.0)[1], [0.5, 4.0])
slopes[1]     #~ (sum(way(dop853(), 4.0 + 1e-4)) - sum(way(dop853(), 4.0 - 1e-4))) / 2e-4 tol 1e-4
# In a map, the failure of one batch element is reported.
try { map(x0 -> ode((t, y) -> x0 * y^2, [1.0], (0.0, 2.0); method = rodas5p(), saveat = at).values, [0.1, 1.0]) } catch m { m[..22] }    #> no solution beyond t =
# A number of times that is known only at run time must be at least one.
few(times) = ode((t, y) -> -y, [1.0], (0.0, 1.0); method = tsit5(), saveat = times).values
none_at(n) = few(linspace(0.0, 1.0, 30)[..n])
shape(none_at(len(at) - 3))    #> (17, 1)
try { none_at(len(at) - 20) } catch m { m }    #> saveat has no times: leave it out to have the whole solution
