# determined.dsl - check that equations determine their unknowns despite
# rounding.
#
# In a problem without time, a condition with a switch may leave the solution
# undetermined, which no proof detects. The factors at hand give the change of
# the solution due to rounding of its equations.

# x with A x == -v; NaN where the matrix is singular.
_correction(A, v) = try { -linsolve(A, v) } catch m { 0 * v + nan }
_undetermined(name; why = "roundings alone move it") =
  ("{name}: equations and conditions do not determine the solution, or this grid does not: {why}. "
    "Say more of it, as its value at a place, or try another guess, fewer points or another method")

# The largest relative change of unknowns of these sizes f64[n] when each
# element of the matrix A of their equations is perturbed by a rounding error
# (Skeel, J. ACM 26, 1979). It tries signs without a pattern first, then the
# signs of the resulting change. The result is inf for a singular A, and about 1
# when the unknowns are not determined. Cost: at most four solves.
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
