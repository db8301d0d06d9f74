# Derivatives through solves: forward sensitivities and adjoints against published values and differences of the solver.

problem robertson(k = [0.04, 1e4, 3e7]) {
  domain t in [0, 100]
  field y[3]
  r1 = k[0]*y[0]
  r2 = k[1]*y[1]*y[2]
  r3 = k[2]*y[1]^2
  y_t == [r2 - r1, r1 - r2 - r3, r3]
  y == [1, 0, 0] at t = 0
}
at(k) = solve(robertson(k), bdf(), rtol = 1e-11, atol = 1e-15).y(0.4)
J = jacobian(at)([0.04, 1e4, 3e7]);
# dy/dk1 at t = 0.4, recomputed in extended precision
J[.., 0]  #~ [-0.3559525659828556, 3.902544053818219e-4, 0.3555623115774737] tol 1e-6
grad(k -> at(k)[2])([0.04, 1e4, 3e7])[0]  #~ 0.3555623115774737 tol 1e-6

# Lotka-Volterra: reverse against forward
problem lotka(a = 1.5, c = 3.0, x0 = 1.0) {
  domain t in [0, 3]
  field x, y
  x_t == a*x - x*y
  y_t == -c*y + x*y
  x == x0  at t = 0
  y == 1.0 at t = 0
}
end(p) = solve(lotka(p[0], p[1], p[2]), bdf(), rtol = 1e-11, atol = 1e-13).x(3.0)
p = [1.5, 3.0, 1.0];
g = grad(end)(p);
h = 1e-4;
d = [(end(p + h*[1.0, 0, 0]) - end(p - h*[1.0, 0, 0]))/(2h), (end(p + h*[0, 1.0, 0]) - end(p - h*[0, 1.0, 0]))/(2h), (end(p + h*[0, 0, 1.0]) - end(p - h*[0, 0, 1.0]))/(2h)];
norm(g - d) / norm(d)  #~ 0.0 tol 1e-6
jvp(end, p, [1.0, 2, 3])[1] - g @ [1.0, 2, 3]  #~ 0.0 tol 1e-6

# a parameter of a partial differential equation, through the method of lines
problem burgers(ν = 0.01/π) {
  domain t in [0, 1], x in [-1, 1]
  field u
  u_t + u*u_x == ν*u_xx
  u == -sin(π*x) at t = 0
  u == 0         at x = -1, x = 1
}
end_value(ν) = solve(burgers(ν), fd(n = 128), rtol = 1e-9, atol = 1e-11).u(1, 0.5)
slope = (end_value(0.0201) - end_value(0.0199)) / 0.0002;
grad(end_value)(0.02) / slope  #~ 1.0 tol 1e-5
grad(ν -> solve(burgers(ν), fd(n = 128)).u(1, 0.5))(0.02) / slope  #~ 1.0 tol 1e-5
end_spectral(ν) = solve(burgers(ν), chebyshev(n = 64), rtol = 1e-9, atol = 1e-11).u(1, 0.5)
grad(end_spectral)(0.02) / ((end_spectral(0.0201) - end_spectral(0.0199)) / 0.0002)  #~ 1.0 tol 1e-4
