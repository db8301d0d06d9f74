# Burgers' equation without viscosity: a smooth wave steepens until it breaks at
# t = 1/(2π), and continues as a shock. Before that the exact solution is u =
# sin(2π(x - ut)), solved here point by point. After it the shock is at x = 1/2
# by symmetry, and the sum over the period is conserved.

problem burgers() {
  domain t in [0, 0.6], x in [0, 1] periodic
  field u
  u_t + ∂x(u^2/2) == 0
  u == sin(2π*x) at t = 0
}

print(conservation(burgers()))
s = solve(burgers(), fv(n = 400, flux = "godunov", reconstruct = "weno5"))

smooth(t, x) = root(u -> u - sin(2π*(x - u*t)), sin(2π*x))
x = linspace(0, 1, 51)
worst = max(abs(s.u(0.12, x) - map(y -> smooth(0.12, y), x)))
print("before it breaks: error {worst:.1e}")
assert(worst < 1e-4)
print("the sum over cells changes by {max(abs(sum(s.values[.., 0]; axis = 1))):.1e}")
assert(max(abs(sum(s.values[.., 0]; axis = 1))) < 1e-11)
# Both sides of the shock: u = sin(2π(1/2 - ut)) is equivalent to u = sin(2πut).
side = root(u -> u - sin(2π*u*0.6), 0.8)
assert(abs(s.u(0.6, 0.495) - side) < 0.02)

plot(s, times = [0.0, 0.1, 0.16, 0.3, 0.6], title = "a wave breaks", file = "shock.png")
