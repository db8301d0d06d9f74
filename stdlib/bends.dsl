# bends.dsl - whether a problem jumps or only bends where it compares
#
# A jump within a cell of a grid leaves to chance what the grid makes of it; a
# bend, as that of max(x - t, 0), decides a part of higher order. Where the
# comparisons are is read off the program (_own_switches), and at their zeros
# the equations are compared on both sides. What is not seen counts as a jump.

# Whether equations or conditions jump within the cells of a grid, or may do so.
# 64 lines along the axes are cut in 128 parts. A comparison is taken for a bend
# if it changes its sign on these and nothing jumps at its zeros; one that does
# so along t alone is in no cell. Time: 8256 comparisons, 100 for each zero.
_jumps_at_switches(info) = {
  of = _of_places(info, list(...info.equations, ...info.conditions))
  if len(of.compared(_middle_of(info))) == 0 { false } else { _primal(() -> _may_jump(info, of)) }
}
_may_jump(info, of) = {
  (parts, found) = (128, false)
  seen = of.compared(_middle_of(info)) != of.compared(_middle_of(info))
  every = list(...(0..len(info.coords)))
  for i in 0..64 {
    for axis in every {
      if not found and i % len(every) == axis {
        at = s -> _moved_along(_even_point(info, i), axis, info.lo[axis] + s * (info.hi[axis] - info.lo[axis]))
        last = of.compared(at(0.0))
        for j in 0..parts {
          next = of.compared(at((j + 1.0) / parts))
          changes = (last <= 0) != (next <= 0)
          seen = seen or changes
          for k in 0..len(last) {
            if not found and axis != info.time and changes[k] {
              found = _jumps_between(of, at, k, f64(j) / parts, (j + 1.0) / parts)
            }
          }
          last = next
        }
      }
    }
  }
  found or not all(seen)
}
# The same at the zero of comparison k between two places of a line
_jumps_between(of, at, k, a, b) = {
  first = of.compared(at(a))[k] <= 0
  (lo, hi) = (a, b)
  for turn in 0..50 {
    middle = 0.5 * (lo + hi)
    if (of.compared(at(middle))[k] <= 0) == first { lo = middle } else { hi = middle }
  }
  (V, W) = (of.full(at(lo - 1e-10)), of.full(at(hi + 1e-10)))
  any(not (abs(W - V) <= 1e-6 * (abs(V) + abs(W))) and (V == V or W == W))
}
