# triangles.dsl - times of Poisson's equation by linear elements on triangles.
#
# The times are those of solve() as a whole, of the assembly, and of the linear
# solution. scripts/bench/bench_setup.sh appends the call.

problem membrane {
  domain x in [0, 1], y in [0, 1]
  field u
  -Δ(u) == 1
  u == 0 at boundary
}

# The matrix of each triangle: products of the edges opposite the corners.
local(points, cells) = {
  corner = k -> points[cells[.., k]]
  edges = stack(corner(2) - corner(1), corner(0) - corner(2), corner(1) - corner(0); axis = 1)
  map(e -> e @ e' / (2abs(e[0, 0] * e[1, 1] - e[0, 1] * e[1, 0])), edges)
}
# The matrix of the inner nodes, its pattern found from nothing.
matrix(mesh) = {
  (x, y) = (mesh.points[.., 0], mesh.points[.., 1])
  inner = (x > 1e-9) and (x < 1 - 1e-9) and (y > 1e-9) and (y < 1 - 1e-9)
  number = cumsum(i64(inner)) - 1
  m = len(mesh.cells)
  r = ravel(broadcast_to(expand(mesh.cells, 2), m, 3, 3))
  c = ravel(broadcast_to(expand(mesh.cells, 1), m, 3, 3))
  v = ravel(local(mesh.points, mesh.cells))
  on = findall(inner[r] and inner[c])
  n = sum(i64(inner))
  sparse(number[r[on]], number[c[on]], v[on], n, n)
}

# Prints the number of triangles, the seconds of the whole, of the matrix and of
# the linear solution, and the relative difference of the two maxima. It runs
# twice, because the first run compiles.
whole(h) = {
  grid = mesh(box([0, 1], [0, 1]), h)
  for k in 0..2 {
    t0 = clock()
    s = solve(membrane, fem(mesh = grid))
    t1 = clock()
    A = matrix(grid)
    t2 = clock()
    # The load of a node is a third of the area of its six triangles, which are
    # equal.
    u = linsolve(A, full(2.0 / len(grid.cells), shape(A)[0]))
    t3 = clock()
    if k == 1 {
      print("{len(grid.cells)} {t1 - t0} {t2 - t1} {t3 - t2} {abs(max(u) / max(s.values) - 1)}")
    }
  }
}
