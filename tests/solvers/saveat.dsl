# Solutions at chosen times: exact at those times, and a function of t between them through the four nearest.
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
abs(one.a(2.0) - exp(-1.0)) < tol                              #> true
two = at([1.0, 3.0])
abs(two.a(3.0) - exp(-3.0)) < tol                              #> true
abs(two.a(2.0) - (exp(-1.0) + exp(-3.0))/2) < tol              #> true
three = at([0.5, 1.0, 2.0])
max(abs(three.a([0.5, 1.0, 2.0]) - exp(-[0.5, 1.0, 2.0]))) < tol    #> true
many = at(linspace(0, 3, 61))
points = linspace(0.05, 2.95, 40)
max(abs(many.a(points) - exp(-points))) < 1e-6                 #> true
abs(grad(t -> many.a(t))(1.23) + exp(-1.23)) < 1e-4            #> true

# a derivative by a parameter, at a saved time
abs(grad(k -> solve(decay(k), adams(), saveat = [1.0, 3.0], rtol = 1e-10, atol = 1e-12).a(3.0))(2.0) + 3*exp(-6.0)) < tol    #> true

# backwards in time
back = solve(decay(1.0), bdf(), t = (0, -1), saveat = [-0.25, -0.5, -0.75, -1.0], rtol = 1e-10, atol = 1e-12)
abs(back.a(-0.75) - exp(0.75)) < tol                           #> true
abs(back.a(-0.6) - exp(0.6)) < 1e-3                            #> true

# a field over x
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
