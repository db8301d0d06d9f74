# ode_auto.dsl - an integrator for whoever does not know whether a problem is stiff: it begins as if it were not, and finds out.

# auto(; max_steps, first_step, max_step): dop853() as long as its steps are as long as the error allows; where stability keeps them short, an implicit method from there on
#   The implicit method is rodas5p() for up to 16 unknowns, bdf() for more and for sparse = true. The explicit one goes on until 15 more steps than others suffer, so that what a
#   stiff problem costs besides is some hundred evaluations. Options as for tsit5().
#   [Source of the test: E. Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, IV.2, (2.26)]
#     ode((t, y) -> -1e6 * (y - cos(t)), [0.0], (0.0, 1.0); method = auto(), rtol = 1e-8, atol = 1e-10).y(1.0)   #~ [cos(1)] tol 1e-5
auto(; max_steps = 0, first_step = 0.0, max_step = inf) =
  (name = "auto", degree = 7, max_steps = max_steps, first_step = first_step, max_step = max_step, watch = true,
    integrate = _by_auto, replayed = _auto_replayed, implicit = _by_ida, solve = _solve_ode)

_by_auto(m, f, jac, y0, t0, t1, o) = {
  one = _dop853(f, o)
  (s, times, Y) = _march(one, m, f, y0, t0, t1, o)
  if s.status == 1 or s.status == 2 { _gave_up(one, m, s, f, t1, o) }
  stats = _counted(one, s)
  if s.status != 3 { (times, Y, stats) } else {
    stiff = _stiff_of_auto(m, y0, o)
    if len(o.saveat) == 0 {
      (more, rows, others) = stiff.integrate(stiff, f, jac, s.y, s.t, t1, o)
      (more, rows) = _with_degree(more, rows, stiff.degree, m.degree)
      (concat(times, more[1..]), concat(Y, rows[1..]), _both(stats, others))
    } else {
      # the rows before are there; what is still to come is asked for at its times, the others at once, so that a map has rows of one number
      way = where(t1 < t0, -1.0, 1.0)
      open = way * (o.saveat - s.t) > 0
      (_, rows, others) = stiff.integrate(stiff, f, jac, s.y, s.t, t1, (...o, saveat = where(open, o.saveat, s.t)))
      (o.saveat, where(expand(open, 1), rows, Y), _both(stats, others))
    }
  }
}
_stiff_of_auto(m, y0, o) = if _is_fixed(len(y0)) and kind(o.pattern) == "none" {
  rodas5p(max_steps = m.max_steps)
} else {
  bdf(max_steps = m.max_steps)
}
_both(a, b) = record(keys(a), list(...map((x, y) -> x + y, list(...values(a)), list(...values(b)))))

# Rows at e + 1 equal parts of each step instead of at d + 1 nodes, on the same polynomials
_with_degree(times, Y, d, e) = {
  if d == e { (times, Y) } else {
    steps = (len(times) - 1) // d
    at = list(...map(j -> times[iota(steps) * d + j], list(...(0..(d + 1)))))
    rows = list(...map(j -> Y[iota(steps) * d + j], list(...(0..(d + 1)))))
    parts = list()
    ends = list()
    for i in list(...(1..(e + 1))) {
      t = if i == e { at[d] } else { at[0] + (i / e) * (at[d] - at[0]) }
      y = 0.0 * rows[0]
      for j in list(...(0..(d + 1))) {
        w = ones(steps)
        for k in list(...(0..(d + 1))) {
          if k != j { w = w * ((t - at[k]) / (at[j] - at[k])) }
        }
        y = y + expand(w, 1) * rows[j]
      }
      ends = push(ends, t)
      parts = push(parts, if i == e { rows[d] } else { y })
    }
    (concat(times[..1], ravel(stack(...ends; axis = 1))),
      concat(Y[..1], reshape(stack(...parts; axis = 1), steps * e, len(Y[0]))))
  }
}
