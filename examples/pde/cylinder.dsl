# Flow around a cylinder in a channel, Re = 20: the steady benchmark 2D-1 of M.
# Schäfer and S. Turek (Benchmark computations of laminar flow around a
# cylinder, 1996). Its drag and lift coefficients are known to many digits:
# 5.57953523384 and 0.010618948146 (G. Nabh 1998). The force is the equation's
# flux through the cylinder, from the residual, plus the pressure on it. There
# is one method: only fem() solves problems on a region of this shape. Its
# elements of order 3 have curved sides there, on meshes refined towards the
# cylinder.

problem cylinder(ν = 0.001) {
  domain (x, y) in difference(box([0, 2.2], [0, 0.41]), disk([0.2, 0.2], 0.05; name = "cylinder"))
  field v[2], p
  v·grad(v) == ν*Δ(v) - grad(p)
  div(v) == 0
  v == [1.2y*(0.41 - y)/0.41^2, 0] at left
  v == [0, 0]                      at bottom, top, cylinder
  ν*∂n(v) - p*normal == [0, 0]     at right
}

# A mesh refined near the cylinder.
R = difference(box([0, 2.2], [0, 0.41]), disk([0.2, 0.2], 0.05; name = "cylinder"))
refined(h, turns) = {
  m = mesh(R, h)
  for j in 0..turns {
    c = mean(m.points[m.cells]; axis = 1)
    m = refine(m; marked = norm(c - [0.2, 0.2]; axis = 1) < 0.05 + 0.1*0.6^j)
  }
  m
}
force(s) = 500*(s.flux("cylinder").v + s.integral(q -> q.p*q.normal; at = "cylinder"))

print("               drag     lift     pressure drop")
print("reference      5.57954  0.01062  0.11752")
for (size, m, bound) in (("h = 0.050", refined(0.05, 2), 1e-3),
  ("h = 0.040", refined(0.04, 4), 1e-4)) {
  s = solve(cylinder(), fem(mesh = m, order = 3))
  f = force(s)
  print("fem {size}  {f[0]:.5f}  {f[1]:.5f}  {s.p(0.15, 0.2) - s.p(0.25, 0.2):.5f}")
  assert(abs(f[0]/5.57953523384 - 1) < bound and abs(f[1] - 0.010618948146) < 5*bound,
    "drag {f[0]}, lift {f[1]}")
}

s = solve(cylinder(), fem(h = 0.03, order = 2))
(x, y) = (linspace(0, 1, 151), linspace(0.01, 0.4, 60))
heatmap(x, y, s.v(expand(x, 1), expand(y, 0))[.., .., 0],
  title = "flow around a cylinder, Re = 20: velocity along the channel", xlabel = "x", ylabel = "y",
  size = (6.6, 3.4), dpi = 100, file = "cylinder.png")
