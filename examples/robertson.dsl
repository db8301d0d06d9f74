# Robertson's reaction: rates from 0.04 to 3e7, over eleven decades of time. The
# problem is stiff, so the method is bdf().

problem robertson(k1 = 0.04, k2 = 3e7, k3 = 1e4) {
  domain t in [0, 1e11]
  field a, b, c
  a_t == -k1*a + k3*b*c
  b_t == k1*a - k3*b*c - k2*b^2
  c_t == k2*b^2
  a == 1 at t = 0
  b == 0 at t = 0
  c == 0 at t = 0
}

s = solve(robertson(), bdf(), rtol = 1e-9, atol = 1e-18)
for t in [0.4, 40.0, 4e3, 4e5, 1e11] {
  print("t = {t:8.1e}   a = {s.a(t):.6e}   b = {s.b(t):.6e}   c = {s.c(t):.6f}")
}
print("{s.stats.steps} steps, {s.stats.jacobians} Jacobians")

# The reference solution of this classical test at t = 1e11.
assert(abs(s.a(1e11) / 0.2083340149701255e-7 - 1) < 1e-5)
assert(abs(s.b(1e11) / 0.8333360770334713e-13 - 1) < 1e-5)

# Mass conservation: a + b + c stays 1.
assert(abs(s.a(1e3) + s.b(1e3) + s.c(1e3) - 1) < 1e-9)

τ = logspace(-5, 11, 300)
semilogx(τ, s.a(τ), 1e4*s.b(τ), s.c(τ), labels = list("a", "10^4 b", "c"), xlabel = "t",
  title = "Robertson's reaction", file = "robertson.png")
