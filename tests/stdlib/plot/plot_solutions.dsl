# plot_solutions.dsl - plot, heatmap, contour and animate of solutions and their
# fields: panels and layers, by the number of coordinates.
# As users run it only: compiling all of it takes long.

# one coordinate, with t and without: curves
problem swing() {
  domain t in [0, 2]
  field q, p
  q_t == p
  p_t == -q
  q == 1 at t = 0
  p == 0 at t = 0
}
s = solve(swing());
p = plot(s);
map(l -> l.label, p.panels[0].layers)              #> list("q", "p")
plot(s.p).panels[0].layers[0].y[-1]                #~ -sin(2.0) tol 1e-6
problem rod() { domain x in [0, 1]; field u; -u_xx == 1; u == 0 at x = 0, x = 1 }
plot(solve(rod()).u).panels[0].xlabel              #> x
max(plot(solve(rod(), rfm())).panels[0].layers[0].y)    #~ 0.125 tol 1e-4

# t and x: a heat map and profiles; fields alone
problem heat() { domain t in [0, 0.1], x in [0, 1]; field u; u_t == u_xx; u == sin(π*x) at t = 0; u == 0 at x = 0, x = 1 }
a = solve(heat(), fd(n = 41));
b = solve(heat(), chebyshev(n = 16));
len(plot(a).panels)                                #> 2
len(plot(a, b, times = [0.02, 0.1]).panels[1].layers)    #> 4
max(heatmap(a.u).panels[0].layers[0].z)            #~ 1 tol 1e-4
heatmap(a, "u").panels[0].zlabel                   #> u
try { heatmap(a, "w") } catch m { m }              #> heatmap: the solution has no field w
a.u().coords                                       #> ("t", "x")

# Two dimensions: scalars as heat maps; with t, at the end or at `times`, with a
# common colour scale.
problem plate() {
  domain t in [0, 0.1], (x, y) in box([0, 1], [0, 1])
  field u
  u_t == Δ(u)
  u == sin(π*x)*sin(π*y) at t = 0
  u == 0 at boundary
}
c = solve(plate(), fd(n = 17));
p = plot(c);
(len(p.panels), p.panels[0].title, p.panels[0].aspect)    #> (1, "u, t = 0.1", 1)
max(p.panels[0].layers[0].z)                       #~ exp(-0.2π^2) tol 1e-3
q = plot(c.u, times = [0.0, 0.05, 0.1]);
(len(q.panels), q.cols)                            #> (3, 3)
q.panels[0].zlim                                   #~ (0, 1) tol 1e-3
same(q.panels[0].zlim, q.panels[2].zlim)           #> true
contour(c.u).panels[0].layers[0].kind              #> contours
path = "/tmp/atled-plate.gif"
animate(c.u, 3, file = path);
exists(path)                                       #> true

# Vectors: magnitude with streamlines; panels of a wide region are stacked
# vertically.
problem stokes() {
  domain (x, y) in box([0, 3], [0, 1])
  field v[2], p
  Δ(v) == grad(p)
  div(v) == 0
  v == [y*(1 - y), 0] at left, right
  v == [0, 0] at bottom, top
  p == 0 at (0, 0)
}
w = plot(solve(stokes(), fem(h = 1/4, order = 2)));
(w.rows, w.cols)                                   #> (2, 1)
map(l -> l.kind, w.panels[0].layers)               #> list("heat", "flow", "line")
w.panels[0].title                                  #> |v|
max(w.panels[0].layers[0].z)                       #~ 0.25 tol 1e-2

# Three dimensions: the plane through the middle. Eigenfunctions: the first two.
problem cube() { domain x in [0, 1], y in [0, 1], z in [0, 2]; field u; Δ(u) == 0; u == x + y + z at boundary }
k = plot(solve(cube(), fd(n = 13))).panels[0];
k.title                                            #> u, z = 1
max(k.layers[0].z)                                 #~ 3 tol 1e-10
problem drum() { domain (x, y) in box([0, 1], [0, 1]); field u; eigen λ; -Δ(u) == λ*u; u == 0 at boundary }
map(p -> p.title, plot(solve(drum(), fem(h = 1/6, order = 2), count = 3)).panels)   #> list("u[0]", "u[1]")
map(p -> p.title, plot(solve(drum(), fd(n = 21), count = 3)).panels)    #> list("u")

# a record that is no solution is refused
try { plot((a = 1)) } catch m { m }                #> plot: this record is no solution
