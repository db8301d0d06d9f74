# Solutions in files: on meshes as .vtu, time series as .pvd, and of every
# method as .h5.
# As users run it only: compiling all of it takes long.
at(name) = "/tmp/atled-data-s-{name}"

problem plate {
  domain t in [0, 0.2], x in [0, 1], y in [0, 1]
  field u, v[2]
  u_t == 0.1*Δ(u)
  v_t == 0.1*Δ(v)
  u == sin(π*x)*sin(π*y)       at t = 0
  v == [x*(1 - x), 0]*y*(1 - y) at t = 0
  u == 0      at boundary
  v == [0, 0] at boundary
}
s = solve(plate(), fem(h = 0.25, order = 2));
save(at("end.vtu"), s)
g = load(at("end.vtu"));
# quadratic triangles: midpoints of edges are also points
(shape(g.points), shape(g.cells), g.types[0])        #> ((81, 2), (32, 6), 22)
X = g.points
max(abs(g.point.u - s.u(0.2, X[.., 0], X[.., 1])))   #> 0.0
max(abs(g.point.v - s.v(0.2, X[.., 0], X[.., 1])))   #> 0.0
# The midpoints have VTK's order: between the first and second corner, the
# second and third, the first and third.
C = X[g.cells]
max(abs(C[.., 3] - 0.5*(C[.., 0] + C[.., 1])))       #~ 0 tol 1e-15
max(abs(C[.., 4] - 0.5*(C[.., 1] + C[.., 2])))       #~ 0 tol 1e-15
max(abs(C[.., 5] - 0.5*(C[.., 0] + C[.., 2])))       #~ 0 tol 1e-15
save(at("middle.vtu"), s, at = 0.1, compress = true)
max(abs(load(at("middle.vtu")).point.u - s.u(0.1, X[.., 0], X[.., 1])))   #> 0.0

# without t, in three dimensions, with eigenvalues
problem cube {
  domain (x, y, z) in box([0, 1], [0, 1], [0, 1])
  field u
  -Δ(u) == 1
  u == 0 at boundary
}
c = solve(cube(), fem(h = 0.5), estimate = false);
save(at("cube.vtu"), c)
g = load(at("cube.vtu"));
X = g.points
(shape(g.cells)[1], g.types[0], max(abs(g.point.u - c.u(X[.., 0], X[.., 1], X[.., 2]))))     #> (4, 10, 0.0)
c = solve(cube(), fem(h = 0.5, order = 2));
save(at("cube.vtu"), c)
g = load(at("cube.vtu"));
X = g.points
(shape(g.cells)[1], g.types[0], max(abs(g.point.u - c.u(X[.., 0], X[.., 1], X[.., 2]))))     #> (10, 24, 0.0)
C = X[g.cells]
pairs = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
max(list(...map(k -> max(abs(C[.., 4 + k] - 0.5*(C[.., pairs[k][0]] + C[.., pairs[k][1]]))), list(...(0..6)))))     #~ 0 tol 1e-15
# Boxes: VTK's quadrilaterals and hexahedra. The corners go around the lower and
# the upper side; then come the midpoints of edges, of sides and of the cell.
spots(g) = { C = g.points[g.cells[0]]; 2*(C - min(C; axis = 0))/(max(C; axis = 0) - min(C; axis = 0)) }
square = [0.0, 0; 2, 0; 2, 2; 0, 2]
q = solve(plate(), fem(h = 0.25, cells = "boxes"), estimate = false);
save(at("quads.vtu"), q)
g = load(at("quads.vtu"));
(shape(g.points), shape(g.cells), g.types[0])        #> ((25, 2), (16, 4), 9)
spots(g)                                             #~ square
X = g.points
max(abs(g.point.v - q.v(0.2, X[.., 0], X[.., 1])))   #~ 0.0 tol 1e-14
q = solve(plate(), fem(h = 0.25, order = 3, cells = "boxes"), estimate = false);
save(at("quads.pvd"), q, at = [0.1, 0.2])
g = load(at("quads.pvd")).pieces[1];
(shape(g.points), shape(g.cells), g.types[0])        #> ((81, 2), (16, 9), 28)
spots(g)                                             #~ concat(square, [1.0, 0; 2, 1; 1, 2; 0, 1; 1, 1]; axis = 0)
X = g.points
max(abs(g.point.u - q.u(0.2, X[.., 0], X[.., 1])))   #~ 0.0 tol 1e-14
cubes = concat(concat(square, 0*square[.., ..1]; axis = 1), concat(square, 0*square[.., ..1] + 2; axis = 1); axis = 0)
c = solve(cube(), fem(h = 0.5, cells = "boxes"), estimate = false);
save(at("cube.vtu"), c)
g = load(at("cube.vtu"));
(shape(g.points), shape(g.cells), g.types[0])        #> ((27, 3), (8, 8), 12)
spots(g)                                             #~ cubes
save(at("mesh.vtu"), mesh_data(c.mesh; u = c.u))
same(load(at("mesh.vtu")).cells, g.cells)            #> true
c = solve(cube(), fem(h = 0.5, order = 2, cells = "boxes"), estimate = false);
save(at("cube.vtu"), c)
g = load(at("cube.vtu"));
(shape(g.points), shape(g.cells), g.types[0])        #> ((125, 3), (8, 27), 29)
C = spots(g)
C[..8]                                               #~ cubes
# the midpoints of edges, of sides and of the cell
ends = [0, 1; 1, 2; 2, 3; 3, 0; 4, 5; 5, 6; 6, 7; 7, 4; 0, 4; 1, 5; 2, 6; 3, 7]
C[8..20]                                             #~ 0.5*(C[ends[.., 0]] + C[ends[.., 1]])
C[20..]                                              #~ [0.0, 1, 1; 2, 1, 1; 1, 0, 1; 1, 2, 1; 1, 1, 0; 1, 1, 2; 1, 1, 1]
X = g.points
max(abs(g.point.u - c.u(X[.., 0], X[.., 1], X[.., 2])))   #> 0.0
problem membrane {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  eigen λ
  -Δ(u) == λ*u
  u == 0 at boundary
}
e = solve(membrane(), fem(h = 0.25); count = 2);
save(at("modes.vtu"), e)
keys(load(at("modes.vtu")).point)        #> ("u_0", "u_1")

# a series: the times, and the fields at each of them
save(at("series.pvd"), s, at = [0.0, 0.05, 0.2])
r = load(at("series.pvd"));
r.times                                  #> [0, 0.05, 0.2]
len(r.pieces)                            #> 3
Y = r.pieces[1].points
max(abs(r.pieces[1].point.u - s.u(0.05, Y[.., 0], Y[.., 1])))     #> 0.0
max(abs(r.pieces[2].point.v - s.v(0.2, Y[.., 0], Y[.., 1])))      #> 0.0
print(read_text(at("series.pvd")))
#> <?xml version="1.0"?>
#> <VTKFile type="Collection" version="0.1">
#>   <Collection>
#>     <DataSet timestep="0.0" group="" part="0" file="atled-data-s-series_00000.vtu"/>
#>     <DataSet timestep="0.05" group="" part="0" file="atled-data-s-series_00001.vtu"/>
#>     <DataSet timestep="0.2" group="" part="0" file="atled-data-s-series_00002.vtu"/>
#>   </Collection>
#> </VTKFile>
# On a grid: images; a vector has its components.
f = solve(plate(), fd(n = 11));
save(at("grid.pvd"), f, at = [0.05, 0.2])
r = load(at("grid.pvd"));
shape(r.pieces[0].point.v)               #> (201, 201, 2)
x = linspace(0, 1, 201)
max(abs(r.pieces[0].point.u - f.u(0.05, expand(x, 1), expand(x, 0))))     #> 0.0
# without `at`: the solution's own times, or 101 if there are many
problem burgers() {
  domain t in [0, 0.1], x in [0, 1] periodic
  field u
  u_t + ∂x(u^2/2) == 0
  u == sin(2π*x) at t = 0
}
b = solve(burgers(), fv(40));
save(at("fv.pvd"), b)
r = load(at("fv.pvd"));
(len(r.times), max(abs(r.times - b.times)))     #> (51, 0.0)
len(b.times)                                    #> 51
# a record
save(at("own.pvd"), (times = [1, 2], spacing = [0.5], point = (q = [1.0, 2, 3; 4, 5, 6],)))
load(at("own.pvd")).pieces[1].point.q           #> [4, 5, 6]

# Every method's solution survives a round trip through .h5: the values and its
# kind.
problem heat(k = 0.1) {
  domain t in [0, 0.2], x in [0, 1]
  field u
  u_t == k*u_xx
  u == sin(π*x) at t = 0
  u == 0        at x = 0, x = 1
}
problem wave {
  domain t in [0, 1], x in [0, 2π] periodic
  field u
  u_t == -u_x + 0.1*u_xx
  u == sin(x) at t = 0
}
problem decay {
  domain t in [0, 1]
  field y
  y_t == -y
  y == 1 at t = 0
}
problem poisson {
  domain x in [0, 1], y in [0, 1]
  field u
  -u_xx - u_yy == 1
  u == 0 at boundary
}
problem between {
  domain x in [0, 1]
  field u
  u_xx == -u
  u == 0 at x = 0
  u == 1 at x = 1
}
back(s, value) = {
  save(at("any.h5"), s)
  l = load(at("any.h5"))
  same = bool(value(l) == value(s)) and bool(l.text == s.text) and bool(str(l.info) == str(s.info)) and bool(l.method == s.method)
  same and bool(str(l.settings) == str(s.settings)) and bool(str(l.times) == str(s.times))
}
back(solve(heat(), fd(n = 21)), s -> s.u(0.1, 0.3))               #> true
back(solve(heat(), chebyshev(8)), s -> s.u(0.1, 0.3))             #> true
back(solve(heat(), fem(h = 0.2)), s -> s.u(0.1, 0.3))             #> true
back(solve(wave(), fourier(16)), s -> s.u(0.73, 0.3))             #> true
back(solve(wave(), fourier(16; time = cnab2(0.01))), s -> s.u(0.73, 0.3))     #> true
back(b, s -> s.u(0.073, 0.3))                                     #> true
back(solve(decay()), s -> s.y(0.7))                               #> true
back(solve(between()), s -> s.u(0.4))                             #> true
back(solve(between(), shooting(3)), s -> s.u(0.4))                #> true
back(solve(poisson(), fd(n = 11)), s -> s.u(0.1, 0.3))            #> true
back(solve(poisson(), fem(h = 0.25)), s -> s.u(0.1, 0.3))         #> true
back(e, s -> s.u[1](0.1, 0.3))                                    #> true
back(solve(poisson(), rfm(100)), s -> s.u(0.1, 0.3))              #> true
p = solve(poisson(), pinn([10], 100; steps = 5));
save(at("any.h5"), p)
load(at("any.h5")).u(0.1, 0.3)                                    #~ p.u(0.1, 0.3) tol 1e-15
solve(heat(), fd(n = 21)).settings        #> (n = 21, order = 4, time = "bdf", count = 6, near = 0.0)
p.settings.hidden                         #> [10]

# refusals
said(f) = try { f(); "nothing" } catch e { e }
said(() -> save(at("x.pvd"), (times = [1.0, 2], point = (q = [1.0, 2, 3],))))    #> /tmp/atled-data-s-x.pvd: point: the field q is no array whose first axis are the 2 times
said(() -> save(at("x.pvd"), (times = 1, point = (q = [1.0, 2, 3],))))           #> /tmp/atled-data-s-x.pvd: a series is a solution in t, or a record (times, point, ...) as an image or a grid has, whose fields have the times as their first axis
write_text(at("y.pvd"), "<VTKFile type=\"Collection\"><Collection><DataSet timestep=\"1\" file=\"atled-data-s-none.vti\"/></Collection></VTKFile>")
said(() -> load(at("y.pvd")))            #> /tmp/atled-data-s-none.vti: No such file or directory
write_text(at("y.pvd"), "<VTKFile type=\"Collection\">\n<Collection>\n<DataSet file=\"a.vti\"/></Collection></VTKFile>")
said(() -> load(at("y.pvd")))            #> /tmp/atled-data-s-y.pvd:3: DataSet: it does not say its time
