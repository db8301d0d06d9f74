# Flow around a cylinder in a channel, Re = 20: the steady benchmark 2D-1 of M. Schäfer and S. Turek (Benchmark computations of laminar flow around a cylinder, 1996), whose coefficients of drag and lift are
# known to many digits: 5.57953523384 and 0.010618948146 (G. Nabh 1998). The force is that of the stress and of the momentum through a circle around the cylinder, where the flow is smoother than at
# the wall. one method: only fem() serves
# a region of this shape, on two meshes. The polygons in place of the circle have 10 and 16 sides, which is an error of one or two parts in a hundred of the drag; the lift, 500 times smaller, would take a finer mesh.

problem cylinder(ν = 0.001) {
  domain (x, y) in difference(box([0, 2.2], [0, 0.41]), disk([0.2, 0.2], 0.05; name = "cylinder"))
  field v[2], p
  v·grad(v) == ν*Δ(v) - grad(p)
  div(v) == 0
  v == [1.2y*(0.41 - y)/0.41^2, 0] at left
  v == [0, 0]                      at bottom, top, cylinder
  ν*∂n(v) - p*normal == [0, 0]     at right
}

# the mean over two circles: the same force goes through each
φ = 2π*iota(64)/64.0
n = stack(cos(φ), sin(φ); axis = 1)
force(s) = {
  total = zeros(2)
  for r in (0.08, 0.1) {
    (x, y) = (0.2 + r*cos(φ), 0.2 + r*sin(φ))
    v = s.v(x, y)
    (_, a) = jvp(x -> s.v(x, y), x, ones_like(x))
    (_, b) = jvp(y -> s.v(x, y), y, ones_like(y))
    f = 0.001*(a*n[.., ..1] + b*n[.., 1..]) - expand(s.p(x, y), 1)*n - v*sum(v*n; axis = 1, keepdims = true)
    total = total + 500*π*r*mean(f; axis = 0)
  }
  total
}

print("               drag     lift     pressure drop")
print("reference      5.57954  0.01062  0.11752")
for (size, h, bound) in (("h = 0.030", 0.03, 0.05), ("h = 0.020", 0.02, 0.03)) {
  s = solve(cylinder(), fem(h = h, order = 2))
  f = force(s)
  print("fem {size}  {f[0]:.5f}  {f[1]:.5f}  {s.p(0.15, 0.2) - s.p(0.25, 0.2):.5f}")
  assert(abs(f[0]/5.57953523384 - 1) < bound, "drag {f[0]}")
}

s = solve(cylinder(), fem(h = 0.03, order = 2))
(x, y) = (linspace(0, 1, 151), linspace(0.01, 0.4, 60))
heatmap(x, y, s.v(expand(x, 1), expand(y, 0))[.., .., 0], title = "flow around a cylinder, Re = 20: velocity along the channel",
  xlabel = "x", ylabel = "y", size = (6.6, 3.4), dpi = 100, file = "cylinder.png")
