# ode_auto.dsl - the default integrator: explicit steps, with a switch to an
# implicit method when the problem becomes stiff.

# auto(; max_steps, first_step, max_step): the default method of ode and solve:
# dop853() while the error limits its steps, and an implicit method where
# stability limits them.
#   The implicit method is rodas5p() for up to 32 unknowns (for tight tolerances
#   radau() of order 9, or of order 13 for more than 16 unknowns), else bdf().
#   bdf() uses a sparse Jacobian if at most a tenth of its elements can be
#   nonzero, or with sparse = true.
#   The switch happens after 8 more steps were limited by stability than were
#   not, so detecting stiffness costs about a hundred evaluations. rodas5p()
#   returns to explicit steps where its longer steps do not outweigh their cost.
#   Derivatives are those of the steps if all were explicit, or with one time in
#   saveat and up to 16 unknowns, whose number is static. Otherwise they are
#   those of bdf(), from sensitivity equations or the adjoint problem, at the
#   same times. Events, and equations with implicit time derivatives, are
#   handled as by bdf(). Options are those of tsit5(). [stiffness test: E.
#   Hairer and G. Wanner, Solving Ordinary Differential Equations II, 2nd ed.,
#   Springer 1996, IV.2, (2.26)]
#     ode((t, y) -> -1e6 * (y - cos(t)), [0.0], (0.0, 1.0); method = auto(), rtol = 1e-8, atol = 1e-10).y(1.0)   #~ [cos(1)] tol 1e-5
auto(; max_steps = 0, first_step = 0.0, max_step = inf) =
  (name = "auto", order = 0, degree = 7, max_steps = max_steps, first_step = first_step,
    max_step = max_step, watch = true, explicit = true, integrate = _by_auto, until = _until_cvode,
    implicit = _by_ida, until_implicit = _until_ida, solve = _solve_ode)

# The value by the steps of the methods. Its derivative replays the same steps
# (ode_reverse.dsl) if all were explicit, for any number of unknowns and times;
# or, if some were implicit, for up to 16 unknowns and one time. Otherwise it
# solves the sensitivity equations by CVODES. That uses Adams methods where the
# steps were explicit but too many to store.
_by_auto(m, f, jac, y0, t0, t1, o) =
  _from_zero(f, jac, t0, t1, o, (f, jac, t0, t1, o) -> _by_auto_clock(m, f, jac, y0, t0, t1, o))
_by_auto_clock(m, f, jac, y0, t0, t1, o) = {
  (times, Y, counts, how) = _primal(() -> _auto_rows(m, f, jac, y0, t0, t1, o))
  (at, rows) = if _asks_all(o.saveat) {
    _value_of(() -> _auto_whole_again(m, f, jac, y0, t0, t1, o, times, Y, how), (times, Y))
  } else { (o.saveat, _value_of(() -> _auto_again(m, f, jac, y0, t0, t1, o), Y)) }
  (at, rows, _stats(counts))
}

# The whole solution, whose rows are known, by steps that have derivatives.
_auto_whole_again(m, f, jac, y, t0, t1, o, T, Y, how) = {
  by_equations = w -> {
    at = T
    at[0] = t0
    at[-1] = t1
    (at, _by_cvode(w, f, jac, y, t0, t1, (...o, saveat = at))[1])
  }
  if not _auto_fits(f(t0, y), y) {
    by_equations(m)
  } else {
    if _wants_equations(m, f, jac, T, Y, o) {
      _by_sensitivities(m, f, jac, y, t0, t1, o, T, Y)
    } else {
      if _auto_hardest(how) > 0 { by_equations(m) } else {
        if _auto_kept(len(y), len(how), 60 * len(how)) {
          (at, rows, end) =
            _replay_rows((...m, turn = _dop853_turn), f, jac, o, y, t0, t1, T, Y, o.saveat)
          _also_last(f, y, t0, t1, at, rows)
        } else { by_equations(adams(max_steps = m.max_steps)) }
      }
    }
  }
}
# The same for rows at saveat.
_auto_again(m, f, jac, y, t0, t1, o) = {
  by_equations = w -> _by_cvode(w, f, jac, y, t0, t1, o)[1]
  if not _auto_fits(f(t0, y), y) { by_equations(m) } else {
    end = o.saveat[-1]
    (T, Y, counts, how) = _primal(() -> _auto_rows(m, f, jac, y, t0, end, (...o, saveat = [])))
    explicit = (...m, turn = _dop853_turn)
    if _wants_equations(m, f, jac, T, Y, o) {
      _by_sensitivities(m, f, jac, y, t0, end, o, T, Y)[1]
    } else {
      if _asks_one(o.saveat) {
        if _is_fixed(len(y)) and kind(o.pattern) == "none" {
          if _auto_hardest(how) == 3 { by_equations(m) } else {
            expand(checkpoint(_replay_to)((...m, turn = _auto_turn), f, jac, (...o, how = how), y,
              t0, end, T, Y), 0)
          }
        } else {
          if _auto_hardest(how) > 0 {
            by_equations(m)
          } else {
            expand(checkpoint(_replay_to)(explicit, f, jac, o, y, t0, end, T, Y), 0)
          }
        }
      } else {
        if _auto_hardest(how) > 0 { by_equations(m) } else {
          if _auto_kept(len(y), len(how), 40 * len(o.saveat)) {
            _replay_rows(explicit, f, jac, o, y, t0, end, T, Y, o.saveat)[1]
          } else {
            by_equations(adams(max_steps = m.max_steps))
          }
        }
      }
    }
  }
}
# Whether the storage of reverse mode for n unknowns is at most 256 MB
# (measured): for each step, and for each step evaluated inside.
_auto_kept(n, steps, inside) = n * (25.0 * steps + 8.0 * inside) <= 3.2e7
_auto_hardest(how) = max(concat(how, i64(zeros(1))))
# For _replay_to: one step by the method that took it: 0 dop853(), 1 rodas5p(),
# 2 radau(order = 9).
_auto_turn(m, f, jac, o) = {
  (one, _) = _dop853_turn(m, f, jac, o)
  (two, _) = _rodas5p_turn(m, f, jac, o)
  stiff = radau(order = 9)
  (three, _) = _radau_turn(stiff, f, jac, o)
  step = (t, y, h, inner, how) -> {
    z = if how == 0 { one(t, y, h, inner, how)[0] } else {
      if how == 1 {
        two(t, y, h, inner, how)[0]
      } else {
        three(t, y, h, _auto_stages(y, inner, _radau(stiff.order).c), how)[0]
      }
    }
    (z, none)
  }
  (step, none)
}
# The stages of Radau IIA from the rows at sevenths of its step, which are on
# the same polynomial.
_auto_stages(y, inner, nodes) = {
  stages = list()
  for x in nodes {
    s = 0.0 * stop_gradient(y)
    for j in each(8) {
      w = 1.0
      for k in each(8) { if k != j { w = w * ((7x - k) / (j - k)) } }
      s = s + w * (if j == 0 { stop_gradient(y) } else { inner[max(j - 1, 0)] })
    }
    stages = push(stages, s)
  }
  stack(...stages)
}

# Alternates explicit and implicit phases, each as long as it is the cheaper
# one. After an implicit phase that did not pay, because it ended within a dozen
# steps, the next one starts eight times later. If a method fails, the implicit
# one tries from the start, then CVODE, which reports the reason.
_auto_rows(m, f, jac, y0, t0, t1, o) =
  if not _auto_fits(f(t0, y0), y0) { _auto_plain(m, f, jac, y0, t0, t1, o) } else {
    if not _auto_sound(y0, t0, t1, o) {
      _auto_plain(m, f, jac, y0, t0, t1, o)
    } else {
      _auto_phases(m, f, jac, y0, t0, t1, o)
    }
  }
# CVODE reports the error.
_auto_plain(m, f, jac, y0, t0, t1, o) = {
  (times, Y, stats) = _by_cvode(m, f, jac, y0, t0, t1, o)
  # as many rows as times, in every batch element of a map
  if not _asks_all(o.saveat) { times = o.saveat }
  (times, Y[..len(times)], i64(stack(list(...values(stats)))), _auto_how(times, m, o, 3))
}
# For the whole solution: the method of each step.
_auto_how(times, m, o, code) =
  if _asks_all(o.saveat) { i64(zeros((len(times) - 1) // m.degree)) + code } else { i64(zeros(0)) }
_auto_fits(v, y0) = if dtype(v) == "c128" or rank(v) != 1 { false } else {
  if _is_fixed(len(v)) and _is_fixed(len(y0)) { len(v) == len(y0) } else { true }
}
_auto_sound(y0, t0, t1, o) = if len(y0) == 0 { false } else {
  way = where(t1 < t0, -1.0, 1.0)
  among = if _asks_all(o.saveat) { true } else {
    way * o.saveat[0] >= way * t0 and way * o.saveat[-1] <= way * t1 and
      all(way * (o.saveat[1..] - o.saveat[..-1]) >= 0)
  }
  limits = o.rtol >= 0 and o.rtol < inf and min(o.atol) >= 0 and max(o.atol) < inf and
    min(o.atol + o.rtol * abs(y0)) > 0 and
    _rms(y0 / (o.atol + o.rtol * abs(y0))) < 4e15
  among and limits and abs(t0) < inf and abs(t1) < inf and max(abs(y0)) < inf
}
_auto_phases(m, f, jac, y0, t0, t1, o) = {
  one = _dop853(f, o)
  chosen = not _asks_all(o.saveat)
  n = len(y0)
  start = (t = t0, y = y0, times = if chosen { o.saveat } else { reshape(t0, 1) },
    Y = if chosen {
      zeros(len(o.saveat), n) + 0.0 * expand(y0, 0)
    } else {
      reshape(y0, 1, n)
    }, counts = i64(zeros(7)),
    how = i64(zeros(0)), patience = where(_auto_hopeless(jac, y0, t0, t1, o), 0, 8), lost = 0,
    going = true)
  s = start
  while s.going {
    at_once = s.patience == 0 or s.lost > 0
    until = where(at_once, s.t, t1)
    # Tight tolerances limit steps already inside the stability region, so the
    # threshold decreases with rtol.
    (e, times, Y) =
      _march(one, (...m, patience = s.patience, edge = clamp(o.rtol, 1e-13, 1e-4)^0.06), f, s.y,
        s.t, until, _auto_from(s.t, until, o))
    s =
      _auto_joined(s, t1, o, e.t, e.y, times, Y, _marched_counts(one, e), _auto_how(times, m, o, 0))
    s.going = false
    gone = e.status == 1 or e.status == 2
    if (e.status == 3 or at_once) and not gone {
      # the largest stable step; 0: for CVODE
      h = where(s.lost == 2, 0.0, where(at_once, inf, abs(e.h)))
      (t, y, times, Y, counts, back, lost, how) =
        _auto_stiff(m, f, jac, e.y, e.t, t1, _auto_from(e.t, t1, o), h)
      s = _auto_joined(s, t1, o, t, y, times, Y, counts, how)
      s.going = back
      s.patience =
        where(counts[0] >= 30 or e.steps > 4 * s.patience, 8, min(8 * max(s.patience, 1), 2000))
      gone = lost
    }
    if gone { s = (...start, lost = where(s.lost == 0, 1, 2)) }
  }
  (s.times, s.Y, s.counts, s.how)
}
# Whether explicit steps would be used up long before t1: one look at a small
# Jacobian. A very stiff problem would otherwise need a dozen steps to show.
_auto_hopeless(jac, y0, t0, t1, o) = if kind(o.pattern) != "none" { false } else {
  if _is_fixed(len(y0)) { _row_sums(jac(t0, y0)) * abs(t1 - t0) > 1e7 } else {
    if len(y0) <= 32 { _row_sums(jac(t0, y0)) * abs(t1 - t0) > 1e7 } else { false }
  }
}
# The options of a phase that begins at t: earlier times of saveat are replaced
# by t, so that the number of rows does not depend on t.
_auto_from(t, t1, o) = if _asks_all(o.saveat) { o } else {
  (...o, saveat = where(sign(t1 - t) * (o.saveat - t) > 0, o.saveat, t))
}
_auto_joined(s, t1, o, t, y, times, Y, counts, how) = {
  open = where(t1 < s.t, -1.0, 1.0) * (o.saveat - s.t) > 0
  if _asks_all(o.saveat) {
    (...s, t = t, y = y, times = concat(s.times, times[1..]), Y = concat(s.Y, Y[1..]),
      counts = s.counts + counts, how = concat(s.how, how))
  } else {
    # times at the start belong to the first phase
    first = s.counts[0] == 0 and s.counts[1] == 0
    (...s, t = t, y = y, Y = where(expand(open or first, 1), Y, s.Y), counts = s.counts + counts)
  }
}

# The implicit phase from t0, where explicit steps are limited by stability to
# h. Returns how far it came, its rows, whether explicit steps are cheaper
# there, and whether it failed.
_auto_stiff(m, f, jac, y0, t0, t1, o, h) = if kind(o.pattern) == "none" {
  if _is_fixed(len(y0)) {
    if h == 0 {
      _auto_large(m, f, jac, y0, t0, t1, o)
    } else {
      _auto_small(m, f, jac, y0, t0, t1, o, h)
    }
  } else {
    if len(y0) <= 32 and h > 0 { _auto_small(m, f, jac, y0, t0, t1, o, h) } else {
      p = _pattern(f, (t0, y0), 1, false)
      if 10 * len(p.rows) > len(y0)^2 { _auto_large(m, f, jac, y0, t0, t1, o) } else {
        _auto_large(m, f, (t, u) -> _compressed(v -> f(t, v), u, p), y0, t0, t1,
          (...o, pattern = (p.column_start, p.rows)))
      }
    }
  }
} else { _auto_large(m, f, jac, y0, t0, t1, o) }
_auto_large(m, f, jac, y0, t0, t1, o) = {
  stiff = bdf(max_steps = m.max_steps)
  (times, Y, stats) = stiff.integrate(stiff, f, jac, y0, t0, t1, o)
  _auto_phase(stiff, m, o, t1, Y[-1], times, Y, stats, false, false, 3)
}
# The cost of a step relative to DOP853, in units of n: 1 for Rodas5P while both
# are in registers; 2 for Radau IIA of order 9; 5 for six unknowns and more,
# whose factors are in memory. For a dynamic number of unknowns, right-hand
# sides and stages in memory cost as much as the linear systems. Radau IIA takes
# few long steps at tight tolerances. It pays from five digits on if all is in
# registers, otherwise from nine (measured).
_auto_small(m, f, jac, y0, t0, t1, o, h) = if _is_fixed(len(y0)) {
  if o.rtol < (if len(y0) <= 5 { 2e-5 } else { 2e-9 }) {
    _auto_radau(m, f, jac, y0, t0, t1, o, h, (if len(y0) <= 5 { 2 } else { 5 }) * len(y0))
  } else {
    _auto_rodas(m, f, jac, y0, t0, t1, o, h, len(y0))
  }
} else {
  if o.rtol < 2e-10 {
    _auto_radau13(m, f, jac, y0, t0, t1, o, h)
  } else {
    _auto_rodas(m, f, jac, y0, t0, t1, o, h, 2)
  }
}
_auto_rodas(m, f, jac, y0, t0, t1, o, h, cost) = {
  stiff = rodas5p(max_steps = m.max_steps, max_step = m.max_step)
  s = _rodas5p_march(stiff, f, jac, y0, t0, t1,
    (...o, worth = 0.7 * cost * min(4.0, h * _row_sums(jac(t0, y0)))))
  _auto_stood(stiff, m, f, s, t1, o, 1)
}
_auto_radau(m, f, jac, y0, t0, t1, o, h, cost) = {
  stiff = radau(order = 9, max_steps = m.max_steps, max_step = m.max_step)
  s = _radau_march(stiff, f, jac, y0, t0, t1,
    (...o, worth = 0.7 * cost * min(4.0, h * _row_sums(jac(t0, y0)))))
  _auto_stood(stiff, m, f, s, t1, o, 2)
}
_auto_radau13(m, f, jac, y0, t0, t1, o, h) = {
  stiff = radau(order = 13, max_steps = m.max_steps, max_step = m.max_step)
  s = _radau_march(stiff, f, jac, y0, t0, t1,
    (...o, worth = 20.0 * min(4.0, h * _row_sums(jac(t0, y0)))))
  _auto_stood(stiff, m, f, s, t1, o, 2)
}
_auto_stood(stiff, m, f, s, t1, o, code) = {
  back = s.state == 5
  lost = s.state == 3 or s.state == 4
  if back or lost { s.state = 1 }
  (t, y) = (s.t, s.y)
  (times, Y, stats) = _stiff_end(stiff, f, s, t1, (...o, quiet = 0))
  _auto_phase(stiff, m, o, t, y, times, Y, stats, back, lost, code)
}
_auto_phase(stiff, m, o, t, y, times, Y, stats, back, lost, code) = {
  counts = i64(stack(list(...values(stats))))
  if _asks_all(o.saveat) {
    (times, Y) = _with_degree(times, Y, _step_fractions(stiff), m.degree)
    (t, y, times, Y, counts, back, lost, _auto_how(times, m, o, code))
    # as many rows as times, in every batch element of a map
  } else { (t, y, o.saveat, Y[..len(o.saveat)], counts, back, lost, _auto_how(times, m, o, code)) }
}

# The positions of the rows of a step, as fractions of it.
_step_fractions(stiff) =
  if has(stiff, "turn") and stiff.name != "rodas5p" { list(0.0, ..._radau(stiff.order).c) } else {
    list(...map(j -> 0.5 - 0.5 * cos(π * j / stiff.degree), each(stiff.degree + 1)))
  }
# Rows at e + 1 equidistant points of each step instead of at the nodes c, on
# the same polynomials. It uses fractions, since times are rounded.
_with_degree(times, Y, c, e) = {
  d = len(c) - 1
  steps = (len(times) - 1) // d
  (first, last) = (times[iota(steps) * d], times[iota(steps) * d + d])
  rows = list(...map(j -> Y[iota(steps) * d + j], each(d + 1)))
  parts = list()
  ends = list()
  for i in each(1, e + 1) {
    x = i / e
    y = 0.0 * rows[0]
    for j in each(d + 1) {
      w = 1.0
      for k in each(d + 1) {
        if k != j { w = w * ((x - c[k]) / (c[j] - c[k])) }
      }
      y = y + w * rows[j]
    }
    ends = push(ends, if i == e { last } else { first + x * (last - first) })
    parts = push(parts, if i == e { rows[d] } else { y })
  }
  (concat(times[..1], ravel(stack(...ends; axis = 1))),
    concat(Y[..1], reshape(stack(...parts; axis = 1), steps * e, len(Y[0]))))
}
