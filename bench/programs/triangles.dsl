# triangles.dsl - Poisson's equation by linear elements on triangles: how long the whole takes by solve, and how long assembling and solving take by themselves. scripts/bench/bench_setup.sh puts a line behind it.

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

# Twice, since the first time compiles: triangles, seconds of the whole, of the matrix, of the solution of the linear system, and the largest difference by the largest value.
whole(h) = {
  grid = mesh(box([0, 1], [0, 1]), h)
  for k in 0..2 {
    t0 = clock()
    s = solve(membrane, fem(mesh = grid))
    t1 = clock()
    A = matrix(grid)
    t2 = clock()
    # a node's share of the load is a third of the six triangles around it, which are alike
    u = linsolve(A, full(2.0 / len(grid.cells), shape(A)[0]))
    t3 = clock()
    if k == 1 {
      print("{len(grid.cells)} {t1 - t0} {t2 - t1} {t3 - t2} {abs(max(u) / max(s.values) - 1)}")
    }
  }
}
