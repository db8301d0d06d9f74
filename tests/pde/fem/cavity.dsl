# The driven cavity at Re = 1000, by elements of order 3 on a mesh graded
# towards the walls, to 1e-4. Oracle: Botella and Peyret, Benchmark spectral
# results on the lid-driven cavity flow, Computers & Fluids 27 (1998), tables 9
# and 10 (seven digits).
# The wall conditions follow the lid's, so that they hold in the corners.
# Otherwise the flow leaks there, and the error is much larger.
# As users run it only: with every function compiled it takes minutes.
# In a long check only: it takes half a minute.
problem cavity(Re = 1000) {
  domain (x, y) in box([0, 1], [0, 1])
  field v[2], p
  v·grad(v) == -grad(p) + Δ(v)/Re
  div(v) == 0
  v == [1, 0] at y = 1
  v == [0, 0] at x = 0, x = 1, y = 0
  p == 0      at (0, 0)
}
m = mesh(box([0, 1], [0, 1]), 1/40)
m = (...m, points = (1 - cos(π*m.points))/2);
s = solve(cavity(), fem(mesh = m, order = 3));
y = [0.0547, 0.0625, 0.0703, 0.1016, 0.1719, 0.2813, 0.4531, 0.5, 0.6172, 0.7344, 0.8516, 0.9531, 0.9609, 0.9688, 0.9766];
u = [-0.1812881, -0.2023300, -0.2228955, -0.3004561, -0.3885691, -0.2803696, -0.1081999, -0.0620561, 0.0570178, 0.1886747, 0.3372212, 0.4723329, 0.5169277, 0.5808359, 0.6644227];
s.v(0.5, y)[.., 0]          #~ u tol 1e-4
s.v(0.9063, 0.5)[1]         #~ -0.5264392 tol 1e-4
