# fem_curved.dsl - cells with curved faces at round boundaries.
#
# Method: isoparametric elements (Ergatoudis, Irons and Zienkiewicz 1968). A
# cell is mapped by the shape functions of an element of order D.bend. This is 1
# where the region has no arcs, else the order of the unknowns. Nodes on the
# boundary are moved to the curve. Interior nodes of a triangle move so that
# third derivatives of the map stay small, which preserves the order (Lenoir,
# SIAM J. Numer. Anal. 23, 1986).

# Returns the order of that element for unknowns of order k.
_bend_of(M, k) =
  if kind(M.region) == "none" or k == 1 { 1 } else if _has_arcs(M.region) { k } else { 1 }
_has_arcs(r) = if r.region == "disk" or r.region == "ball" { true } else if has(r, "first") {
  len(r.lo) == 2 and (_has_arcs(r.first) or _has_arcs(r.second))
} else { false }

# Returns the nodes of all cells f64[m, ng, d], for g above 1, from cells with
# ascending corners; owner and side are those of the faces on the boundary.
_bent_places(M, cells, owner, side, g) = {
  d = _known(shape(M.points)[1], "the dimension")
  g = _known(g, "the order")
  (count, nodes, X) = _nodes(M, cells, g)
  on = unique(ravel(map((row, k) -> row[k], nodes[owner], _face_nodes(_simplex(d), g)[side])))
  Y = X
  Y[on] = if d == 2 { _curve_distance(M.region.curves, X[on])[2] } else {
    N = X[on] - M.region.centre
    M.region.centre + M.region.radius * N / expand(sqrt(sum(N^2; axis = 1)), 1)
  }
  if g == 3 {
    # The centre of a triangle moves by 4/9 of the displacements of the
    # midpoints of its sides. This is the value of c λ0 λ1, which is c/5 at the
    # nodes of an edge and c/9 at the centre.
    δ = (Y - X)[nodes]
    places = Y[nodes]
    edges = d + 1
    for (t, sides) in enumerate(if d == 2 { list(list(0, 1, 2)) } else {
      list(list(0, 1, 3), list(0, 2, 4), list(1, 2, 5), list(3, 4, 5))
    }) {
      k = edges + 2 * (if d == 2 { 3 } else { 6 }) + t
      # The centre of a triangle on the boundary is on it already.
      moves = 0 * δ[.., 0, ..]
      for s in sides {
        moves = moves + 5.0 / 18 * (δ[.., edges + 2 * s, ..] + δ[.., edges + 2 * s + 1, ..])
      }
      free = expand(sum(abs(δ[.., k, ..]); axis = 1) == 0, 1)
      places[.., k, ..] = where(free, places[.., k, ..] + moves, places[.., k, ..])
    }
    places
  } else { Y[nodes] }
}

# Returns, at points where the mapping's shape functions have the values N
# f64[n, ng] and derivatives G f64[n, ng, d], for a cell with nodes X: the
# determinant of the Jacobian, its inverse (for straight cells one for all
# points, else one each), and the mapped points.
_drawn(D, X, N, G) = if D.bend == 1 {
  (det, I) = _det_inverse(_directions_of(X), shape(X)[1])
  (det, I, N @ X)
} else {
  (det, I) = _det_inverse([sum(G[q, i, b] * X[i, a] for i) for q, a, b], shape(X)[1])
  (det, I, N @ X)
}
# Returns derivatives by x from those by the coordinates of the cell: f64[n, nb,
# d].
_drawn_slopes(S, I) =
  if rank(I) == 2 { S @ I } else { [sum(S[q, i, b] * I[q, b, a] for b) for q, i, a] }
# Returns the shape functions of the mapping, and their derivatives, at points ξ
# f64[n, d] of the reference cell.
_drawing(d, g, ξ) = { e = _element(_simplex(d), g); (_shapes(e, ξ), _shape_slopes(e, ξ)) }

# Returns a function from points X to their reference coordinates: Newton's
# method from those of the straight cell. Its steps are differentiable, so
# functions of X have derivatives.
_bent_reference(D, g) = {
  el = _element(_simplex(shape(D.corners)[2]), g)
  (c, X) -> {
    ξ = _reference_of(D.corners[c], X)
    P = D.places[c]
    for turn in list(0, 1, 2, 3) {
      (N, G) = (_shapes(el, ξ), _shape_slopes(el, ξ))
      (_, I) = _det_inverse([sum(G[n, i, b] * P[n, i, a] for i) for n, a, b], shape(D.corners)[2])
      r = X - [sum(N[n, i] * P[n, i, a] for i) for n, a]
      ξ = ξ + sum(I * expand(r, 1); axis = 2)
    }
    ξ
  }
}
# Returns the function that locates points in the mesh of a problem (see
# _locator).
_place_in(D) = if has(D.mesh, "axes") { _grid_locator(D.mesh.axes) } else if D.bend == 1 {
  _locator(D.corners, D.corners, _slack(D.mesh), 1e-3, (c, X) -> _reference_of(D.corners[c], X))
} else { _locator(D.corners, D.places, 0.02, 0.1, _bent_reference(D, D.bend)) }
