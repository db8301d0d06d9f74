# estimates.dsl - how far a solution is off, from a second one of the same method that is coarser: what solve(...; estimate = true) does.
#
# A method says by a field `coarser` what it is with half as many points, twice the step, or larger elements, and by what factor its error is then larger: Richardson's extrapolation (1911). Of a mesh that
# is given a finer one is made instead, by a factor below 1. Of a method that has no such field, or that integrates in time by tolerances, these are wider by that factor. Methods whose error is that of the whole solution already (rfm, pinn, collocation) keep it.

# The estimate for the solution s of a problem by the method m with options o: relative, in the mean square over points of the box, or of the coarser mesh, at the end of the time interval; of problems in one
# coordinate over the whole interval.
_estimated(info, m, o, s) = {
  own = if has(s, "error") { s.error } else { none }
  if info.eigen != "" { _refuse("solve(...; estimate = true) is not for eigenvalue problems: solve twice, and compare") }
  if kind(own) != "none" and not has(m, "time") { own } else {
    (rough, factor) = if has(m, "coarser") { m.coarser(info, m, s) } else { (m, 16.0) }
    r = rough.solve(info, rough, (...o, rtol = min(0.1, factor * o.rtol), atol = factor * o.atol, progress = false))
    d = len(info.space)
    end = if info.time < 0 { 0.0 } else if kind(o.t) == "none" { info.hi[info.time] } else { o.t[1] }
    at = if has(r, "mesh") {
      # off the corners and middles, where elements know more than elsewhere
      X = r.mesh.points[_framed(_cell_of(r.mesh, d), r.mesh.cells)]
      inner = [0.29, 0.17, 0.13][..d]
      X = X[.., 0, ..] + sum(expand(inner, 1) * (X[.., 1.., ..] - X[.., ..1, ..]); axis = 1)
      map(a -> X[.., a], list(...(0..d)))
    } else if len(info.coords) == 1 {
      list(linspace(info.lo[0], s.times[-1], 64))
    } else { list(..._points_in_box(info, (...info.space,), if d == 1 { 97 } else { 400 })) }
    here = if len(info.coords) == 1 or info.time < 0 { (...at,) } else { _with_time(info, (...info.space,), end, at) }
    sample = s -> concat(...map(f -> ravel(field(s, f)(...here) + 0.0), (...info.fields,)))
    (fine, coarse) = (sample(s), sample(r))
    # at the rim of a region a point of one mesh may be outside of the other
    known = abs(fine) + abs(coarse) < inf
    gap = norm(where(known, fine - coarse, 0.0)) / max(1e-300, norm(where(known, fine, 0.0)))
    e = gap / abs(factor - 1)
    if kind(own) == "none" { e } else { max(e, own) }
  }
}

_fd_coarser(info, m, s) = {
  half = n -> max(n // 2 + 1, m.order + 3)
  n = if kind(m.n) == "none" { m.usual[len(info.space) - 1] } else { m.n }
  ((...m, n = if kind(n) == "tuple" or kind(n) == "list" { map(half, (...n,)) } else { half(n) }), 2.0^m.order)
}
# Of first order, as at shocks
_fv_coarser(info, m, s) = {
  half = n -> max(n // 2, 4)
  ((...m, n = if kind(m.n) == "tuple" or kind(m.n) == "list" { map(half, (...m.n,)) } else { half(m.n) }), 2.0)
}
# Of a mesh that was given one with all cells cut, which takes 2^d times as many
_fem_coarser(info, m, s) = if kind(m.mesh) != "none" {
  ((...m, mesh = refine(m.mesh)), 0.5^(_known(m.order, "the order of the elements") + 1.0))
} else {
  d = len(info.space)
  M = s.mesh
  lengths = norm(M.points[M.cells[.., 0]] - M.points[M.cells[.., 1]]; axis = 1)
  h = 2 * mean(lengths)
  cells = if has(M, "axes") { "boxes" } else { "simplices" }
  rough = if kind(info.region) != "none" {
    mesh(info.region, h; cells = cells)
  } else {
    mesh(box(...map(a -> (info.lo[a], info.hi[a]), list(...info.space))), h; cells = cells)
  }
  ((...m, mesh = rough), (len(M.cells) / f64(len(rough.cells)))^((_known(m.order, "the order of the elements") + 1.0) / d))
}
