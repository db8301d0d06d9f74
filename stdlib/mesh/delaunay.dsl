# delaunay.dsl - Delaunay triangulation of points in the plane.

# delaunay(P): the triangles i64[m, 3], anticlockwise, of the Delaunay
# triangulation of points f64[n, 2].
#   Method: quickhull of the points on a paraboloid, by qhull (Barber, Dobkin
#   and Huhdanpaa, ACM TOMS 22, 1996). Cost: O(n log n); O(n^2) or more when
#   many points lie on one empty circle. Points on one circle are triangulated
#   in some way. Triangles at a straight hull that rounding may turn over
#   (flatter than 1e-12 of the points' extent) are left out. Equal points,
#   points on one line, and points closer than about 1e-7 of the extent are
#   errors. The library is loaded at the first use.
#     delaunay([0, 0; 1, 0; 1, 1; 0, 1.2])       #> [[0, 1, 2], [0, 2, 3]]
delaunay(P) = {
  assert(rank(P) == 2 and shape(P)[-1] == 2, "delaunay(P) takes points of the plane, f64[n, 2]")
  n = len(P)
  assert(n >= 3, "delaunay(P) takes at least three points, not {n}")
  T = _host("delaunay", (), (stop_gradient(f64(P)),), ())[0]
  # rotate the smallest corner to the front, then sort by the corners
  first = argmin(T; axis = 1)
  T = stack(...map(k -> _take_each(T, (first + k) % 3), list(0, 1, 2)); axis = 1)
  T[lexsort((T[.., 2], T[.., 1], T[.., 0]))]
}
_take_each(A, k) = map((row, i) -> row[i], A, k)
