# Shallow water in a square basin with walls: a column of water falls, and waves
# run out and are reflected. The volume of water is conserved. The dam break
# along a channel is examples/pde/shallow_water.dsl.

problem basin() {
  domain t in [0, 0.6], x in [0, 1], y in [0, 1]
  field h, p, q
  h_t + ∂x(p) + ∂y(q) == 0
  p_t + ∂x(p^2/h + h^2/2) + ∂y(p*q/h) == 0
  q_t + ∂x(p*q/h) + ∂y(q^2/h + h^2/2) == 0
  h == if (x - 0.35)^2 + (y - 0.4)^2 < 0.02 { 2.0 } else { 1.0 } at t = 0
  p == 0   at t = 0
  q == 0   at t = 0
  h_x == 0 at x = 0, x = 1
  p == 0   at x = 0, x = 1
  q_x == 0 at x = 0, x = 1
  h_y == 0 at y = 0, y = 1
  p_y == 0 at y = 0, y = 1
  q == 0   at y = 0, y = 1
}
s = solve(basin(), fv(n = 80, flux = "hll"))
water = map(v -> mean(v), s.values[.., 0])
print("water in the basin changes by {max(abs(water - water[0])):.1e} of {water[0]:.4f}")
assert(max(abs(water - water[0])) < 1e-12)
heatmap(s.x[0], s.x[1], s.values[-2, 0], title = "level at t = {s.times[-2]:.2f}", xlabel = "x",
  ylabel = "y", zlabel = "h", file = "dam.png")
