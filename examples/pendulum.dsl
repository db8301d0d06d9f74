# A pendulum with a large amplitude: its period compared with the complete
# elliptic integral, and the derivative with respect to the amplitude.

problem pendulum(θ0) {
  domain t in [0, 10]
  field θ, ω
  θ_t == ω
  ω_t == -sin(θ)
  θ == θ0 at t = 0
  ω == 0  at t = 0
}
swing(θ0) = solve(pendulum(θ0), adams(), rtol = 1e-11, atol = 1e-13)

# A quarter of the period ends where θ crosses zero.
period(θ0) = {
  s = swing(θ0)
  4root(t -> s.θ(t), 1.7)
}
# By the arithmetic-geometric mean (Gauss): 2π / agm(1, cos(θ0/2)).
exact(θ0) = {
  (a, b) = (1.0, cos(θ0/2))
  for k in 0..6 { (a, b) = ((a + b)/2, sqrt(a*b)) }
  2π/a
}
for θ0 in [0.1, 1.0, 2.0] {
  print(
    "amplitude {θ0:.1f}: period {period(θ0):.8f}, exact {exact(θ0):.8f}, slope {period'(θ0):.6f}")
  assert(abs(period(θ0) - exact(θ0)) < 1e-7 and abs(period'(θ0) - exact'(θ0)) < 1e-5)
}
t = linspace(0, 10, 400)
plot(t, swing(0.5).θ(t), swing(2.0).θ(t), labels = list("amplitude 0.5", "amplitude 2"),
  xlabel = "t", ylabel = "θ", file = "pendulum.png")
