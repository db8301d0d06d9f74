# determined.dsl - whether equations determine their unknowns, to rounding
#
# Of a problem without time a condition that switches may leave the solution
# open, and no proof says where. What roundings of its equations move it by is
# known from the factors at hand.

# x with A x == -v; nan where the matrix is singular
_correction(A, v) = try { -linsolve(A, v) } catch m { 0 * v + nan }
_undetermined(name; why = "roundings alone move it") =
  ("{name}: equations and conditions do not determine the solution, or this grid does not: {why}. "
    "Say more of it, as its value at a place, or try another guess, fewer points or another method")

# By what part of their sizes f64[n] unknowns move where each entry of the
# matrix A of their equations is changed by a rounding (Skeel, J. ACM 26, 1979),
# tried with signs that have no pattern, and then with those of what moved; inf
# where A is
# singular. Time: four solves. Where unknowns are not determined it is about 1.
_moved_by_rounding(A, sizes) = {
  top = max(sizes)
  size = where(sizes > 1e-10 * top, sizes, 1e-10 * top)
  r = 2.2e-16 * ((...A, values = abs(A.values)) @ size)
  sign = where(sin(f64(iota(len(size)))^2 + 0.5) > 0, 1.0, -1.0)
  (moved, turn) = (0.0, 0)
  while turn < 4 and moved < 1e-3 and top > 0 {
    z = _correction(A, sign * r) / size
    way = max(abs(z))
    moved = if all(z == z) { max(moved, way) } else { inf }
    sign = z / (way + 1e-300)
    turn = turn + 1
  }
  moved
}
