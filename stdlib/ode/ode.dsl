# ode.dsl - initial value problems: `ode`, the interface to SUNDIALS, dense
# output.

# A method is a record with the fields
#   name       the name that solutions show as their method
#   degree     d: a whole solution Y has a row for each of d + 1 nodes of a
#              step, the last of which is the first of the next step. The
#              polynomial through them is the method's dense output
#   explicit   if present: its steps are stable up to some h |λ| (_stable_for,
#              ode_rest.dsl)
#   finds      if present: only Newton's iterations use the Jacobian, so its
#              pattern may be determined automatically
#   integrate  (m, f, jac, y0, t0, t1, o) -> (times, Y, stats); see below
#   until      if present: (m, f, jac, g, directions, stops, signs, y0, t0, t1,
#              o) -> (times, Y, counts, rows, which): the whole solution up to a
#              terminal event, and which events are in which rows;
#              solvers/sundials/events.h describes them. Without it, the result
#              of integrate is searched (events.dsl)
#   implicit   none, or the same for F(t, y, y') == 0: (m, F, jac, y0, id, t0,
#              t1, o) -> (times, Y, stats). jac(t, y, yp, c) = F_y + c F_yp is
#              dense or on o.pattern. id: f64[n], 0 for components without a
#              time derivative
#   solve      the function that solve(problem, m) calls: _solve_ode for
#              problems in t only
#
# Arguments of integrate:
#   m          the record itself, with the method's options in further fields
#   f, jac     f: (t, y) -> f64[n]. jac: (t, y) -> its derivative with respect
#              to y, evaluated only when called: f64[n, n], or with o.pattern
#              the elements of the pattern, by columns
#   y0, t0, t1 y0: f64[n]; t0, t1: f64, where t1 may be before t0
#   o          rtol f64; atol f64[n]; saveat f64[k], in the order of time;
#              pattern: none, or the sparsity of jac by columns (column_start,
#              rows); way: with a pattern 0, 1 for banded or 2 for sparse factors
#   o.quiet    1: if the method gives up, the result is its rows so far, and the
#              stats have complete = 0 and reason, a string; a method without
#              this stops with an error. 2: only complete, and as many rows as
#              saveat has times, of which the last may have any values
#   o.halt     if present: rows after a terminal event are not needed (_halted,
#              events.dsl, is called after each step)
# Results of integrate:
#   times, Y   of the whole solution 1 + d rows a step, from t0 to t1, when
#              _asks_all(o.saveat), else rows at saveat
#   stats      the result of _stats
#
# A failure is error("..."), with the component, the time, the last good values
# and what to try. Derivatives are up to the method: y0, t0, t1, saveat and
# values that f captures may all have tangents.

# bdf(; max_steps, max_step, linear): variable-order backward differentiation
# formulas (CVODE; IDA for algebraic equations) for stiff problems, with the
# exact Jacobian.
#   linear: the solver for systems with a sparse Jacobian: "banded", "sparse"
#   (KLU, or UMFPACK with much fill-in), "krylov" (GMRES with incomplete
#   factors, whose memory and time per iteration are proportional to the number
#   of elements). The default "auto" decides by estimates from the pattern; it
#   takes "krylov" only when exact factors would be far too expensive.
#     ode((t, y) -> -1000 * (y - cos(t)), [0.0], (0.0, 1.0); method = bdf()).y(1.0)   #~ [cos(1) + 0.001 * sin(1)] tol 1e-4
bdf(; max_steps = 0, max_step = inf, linear = "auto") =
  (name = "bdf", order = 0, degree = 5, max_steps = max_steps, max_step = max_step,
    linear = _one_of("bdf has the linear solvers", linear,
      list("auto", "banded", "sparse", "krylov")), finds = true,
    integrate = _by_cvode, until = _until_cvode, implicit = _by_ida, until_implicit = _until_ida,
    solve = _solve_ode)
# adams(; max_steps, max_step): variable-order Adams-Moulton method (CVODE) for
# non-stiff problems
#     ode((t, y) -> -y, [1.0], (0.0, 1.0); method = adams()).y(1.0)   #~ [exp(-1)] tol 1e-4
adams(; max_steps = 0, max_step = inf) =
  (name = "adams", order = 1, degree = 12, max_steps = max_steps, max_step = max_step,
    integrate = _by_cvode, until = _until_cvode, implicit = _by_ida, until_implicit = _until_ida,
    solve = _solve_ode)

# ode(f, y0, (t0, t1)): solves y' = f(t, y) from y(t0) = y0, y0 f64[n]. The
# result is a record: y, a function of t; times; values; stats.
#   method: by default auto(), which detects stiffness; bdf(), adams(), tsit5(),
#   dop853(), rodas5p(), radau(order = 9), symplectic(h), imex(implicit = g),
#   multirate(fast = g), rk4(h), euler(h), or a user's record (above). rtol,
#   atol: tolerances. atol is a scalar or f64[n], by default 1e-9, or a
#   millionth of the initial size of the solution if that is less.
#   sparse = true: the Jacobian df/dy has the pattern of f. A few products give
#   all its elements, and its systems are solved by banded or sparse factors,
#   whichever is estimated to be faster; explain(sparsity(u -> f(t, u), y0))
#   reports which. It pays from some dozens of unknowns with few elements in
#   each row. "banded" and "sparse" select one of the two. By default auto(),
#   bdf() and radau() determine the pattern themselves from 32 unknowns on, and
#   use it if it has at most a tenth of the elements.
#   events: an event(...) or a list of several; the result then has events, as
#   for a problem. partial = true: if the integrator gives up, the result is the
#   solution so far, with complete = false and the reason as a warning; of
#   saveat the reached times remain.
#   y accepts times of any shape between t0 and t1, or the actual end; others
#   are an error. Between times of saveat, without events, y interpolates the
#   four nearest values. It is an error if these do not determine it to a
#   thousandth.
#   Derivatives of every order exist with respect to y0, both times, saveat and
#   captured values, but not the tolerances. Rows of values move with their
#   times, by f(t, y) dt. The first row is at t0 and the last at t1. Times in
#   between are chosen by the integrator and count as fixed. At an equilibrium
#   errors do not control the steps; derivatives then are those of the
#   sensitivity equations, and rows are closer together.
#   Where f compares t with a value (`if t < 2`) every method restarts, so short
#   pulses are not missed; such a time may depend on differentiated values.
#   Methods also restart at up to 256 kinks of functions of t alone: abs, max
#   and min of t, and knots of tables. Steps are at most half as long as narrow
#   features of functions of t alone, down to a thousandth of the span
#   (docs/methods/trust.md).
#     r = ode((t, y) -> [y[1], -y[0]], [1.0, 0], (0.0, 10.0); rtol = 1e-10, atol = 1e-12);
#     r.y(10.0)                      #~ [cos(10), -sin(10)] tol 1e-7
ode(f, y0, span; method = auto(), rtol = 1e-6, atol = none, saveat = [], sparse = none,
  events = none, partial = false) = {
  y = f64(y0)
  t0 = f64(span[0])
  atol = if kind(atol) == "none" {
    _atol_by(1e-9, rtol, y, f(t0, y), f64(span[1]) - t0)
  } else {
    atol
  }
  if kind(events) != "none" or partial {
    _ode_with_events(f, y, t0, f64(span[1]), method,
      (rtol = rtol, atol = atol, saveat = saveat, partial = partial, way = _way(sparse)), sparse,
      events)
  } else { _ode_plain(f, y, t0, span, method, rtol, atol, saveat, sparse) }
}
_ode_plain(f, y, t0, span, method, rtol, atol, saveat, sparse) = {
  o = (rtol = rtol, atol = atol, saveat = saveat, way = _way(sparse))
  (times, Y, stats) =
    _with_jacobian(f, t0, y, sparse, method,
      (jac, pattern) -> _integrate(method, f, jac, pattern, y, t0, span[1], o))
  _check_rows(y, times, Y, o)
  (y = _over_times("t", times, _dense(times, Y, method.degree, _asks_all(saveat))), times = times,
    values = Y, stats = stats, method = method.name)
}
# The default atol: _usual_atol, or if less, a millionth (or rtol, if greater)
# of the largest value. That is the largest initial value, or the final value
# that the initial rates predict.
_atol_by(usual, rtol, y0, rate, span) = {
  change = if kind(rate) == "none" {
    0.0
  } else {
    if _auto_fits(rate, y0) { rate * span } else { 0.0 }
  }
  size = max(concat([0.0], ravel(abs(stop_gradient(y0))), ravel(abs(stop_gradient(change)))))
  least = _usual_atol(usual, rtol)
  where(size > 0, min(least, max(rtol, 1e-6) * size), least)
}
# `usual`, reduced in proportion to rtol for rtol below 1e-6, since tight
# tolerances apply to small components, too.
_usual_atol(usual, rtol) = usual * min(1.0, f64(rtol) / 1e-6)
# Whether atol was not given, so that errors are relative to the solution.
_is_by_size(o) = if has(o, "by_size") { o.by_size } else { false }
# The sizes below which values are negligible, for unknowns with these largest
# values: atol / rtol. Without a given atol it is a hundredth of each size if
# that is less, or a millionth of the largest.
_least_of(o, sizes) = {
  sizes = stop_gradient(sizes)
  least = o.atol / o.rtol + 0.0 * sizes
  if _is_by_size(o) {
    where(sizes < inf, min(least, max(0.01 * sizes, 1e-6 * max(sizes))), least)
  } else {
    least
  }
}
# atol for several unknowns by their initial sizes. Without a given atol it is
# at most a millionth of the smallest; values below a millionth of the largest
# are ignored.
_atol_by_sizes(o, size) = if not _is_by_size(o) { o.atol } else {
  size = stop_gradient(size)
  top = max(size)
  least = min(where(size > 0, max(size, 1e-6 * top), inf))
  where(least < inf, o.atol * min(1.0, 100 * least), o.atol)
}
# Reports solutions that are not acceptable for any method: values that are not
# finite; values smaller than atol everywhere, where errors do not limit the
# steps.
_check_rows(y0, times, Y, o) = {
  Y = stop_gradient(Y)
  size = max(max(abs(stop_gradient(y0))), max(abs(Y)))
  if not (size < inf) {
    bad = f64(not (abs(Y) < inf))
    row = argmax(max(bad; axis = 1))
    said =
      ("the solution is not finite at t = {times[row]}, where number {argmax(bad[row])} of it is "
        "{Y[row, argmax(bad[row])]}")
    if has(o, "partial") {
      if f64(o.partial) > 0 { _warning(said) } else { error(said) }
    } else {
      error(said)
    }
  }
  if size < (if rank(o.atol) == 0 { o.atol } else { min(o.atol) }) and size > 0 {
    _warning(
      "the whole solution is smaller than atol, so that its errors were not looked at: atol is to "
      "be a small part of what matters")
  }
}

# Calls run(jac, pattern) according to the option sparse: whether the Jacobian
# has a pattern, and which factors its systems use, as numbered in
# solvers/linear/shifted_system.h.
_with_jacobian(f, t0, y, sparse, m, run) =
  if kind(sparse) == "none" and has(m, "finds") { _on_pattern_found(f, t0, y, run) } else {
    if kind(sparse) == "none" or (kind(sparse) != "string" and not sparse) {
      run((t, u) -> _rows_jacobian(v -> f(t, v), u), none)
    } else {
      p = _pattern(f, (t0, y), 1, false)
      run((t, u) -> _compressed(v -> f(t, v), u, p), (p.column_start, p.rows))
    }
  }
_way(sparse) = if kind(sparse) != "string" {
  0
} else if sparse == "banded" {
  1
} else if sparse == "sparse" {
  2
} else {
  error("sparse = true, false, \"banded\" or \"sparse\", not \"{sparse}\"")
}

# Integrates in pieces that restart wherever f switches by t alone. pattern:
# none, or the sparsity of the Jacobian by columns.
_integrate(m, f, jac, pattern, y0, t0, t1, o) = {
  o = _integration(y0, pattern, o)
  (t0, t1) = (f64(t0), f64(t1))
  clock = _clock_in(o, f, y0)
  s = _restarts_along(clock, t0, t1, _parts_of_pulses(m))
  m = _seeing(m, clock.watched, s, t0, t1)
  y0 = y0 + clock.firm(t0)
  if _is_fixed(len(s)) { _go(m, f, jac, y0, t0, t1, o) } else {
    _in_pieces((y, a, b, saveat) -> _go(m, f, jac, y, a, b, (...o, saveat = saveat)),
      (y, s, a, b) -> _across(f, y, s, a, b), s, _is_sharp(clock, t0), m.degree, y0, t0, t1,
      o.saveat)
  }
}
# The functions of t alone in f, unless they are known.
_clock_in(o, f, y0) = if kind(o.switches) == "none" {
  (compared = t -> _clock_switches(f, t, y0), watched = t -> _watched(f, t, y0),
    tables = t -> _clock_tables(f, t, y0), bends = t -> _clock_bends(f, t, y0),
    hides = t -> _hides_switches(f, t, y0), firm = t -> _firm_rate(f, t, y0))
} else { o.switches }
# 0, see _firm: for a rate f(t, y, ...) that may jump by t alone.
_firm_rate(f, t, y, ...more) = if _hides_switches(f, t, y, ...more) {
  (still, others) = (stop_gradient(y), more)
  _firm(s -> f(s, still, ...others), t)
} else { 0.0 }
# Whether the whole solution is requested, or its value at one time. This is
# decided before the program runs, because rows have different shapes. A number
# of times known only at run time is at least one.
_asks_all(saveat) = if _is_fixed(len(saveat)) { len(saveat) == 0 } else { false }
_asks_one(saveat) = if _is_fixed(len(saveat)) { len(saveat) == 1 } else { false }
_times_asked(saveat) = {
  if not _is_fixed(len(saveat)) {
    assert(len(saveat) > 0, "saveat has no times: leave it out to have the whole solution")
  }
  saveat
}
_integration(y0, pattern, o) =
  (rtol = f64(o.rtol), atol = _atol_for(y0, f64(o.atol)), saveat = _times_asked(f64(o.saveat)),
    pattern = pattern, way = if has(o, "way") { o.way } else { 0 }, partial = if has(o, "partial") {
      if o.partial { 1 } else { 0 }
    } else {
      0
    }, quiet = if has(o, "quiet") {
      o.quiet
    } else {
      0
    }, names = if has(o, "names") { o.names } else { "" },
    equations = if has(o, "equations") { o.equations } else { "" },
    switches = if has(o, "switches") { o.switches } else { none })

_atol_for(y0, atol) = if rank(atol) == 0 { zeros_like(y0) + atol } else {
  assert(rank(atol) == 1 and len(atol) == len(y0),
    "atol has {len(atol)} numbers for {len(y0)} unknowns")
  zeros_like(y0) + atol
}

# ---- failures of methods written in the language
#
# why(say) calls say with the reason, and is called only when it is needed. With
# o.quiet the counts report the failure, and the rows so far are the result;
# otherwise it is an error.
_as_asked(counts, failed, why, o) = if o.quiet == 1 {
  (...counts, complete = if failed { 0 } else { 1 },
    reason = if failed { why(text -> text) } else { "" })
} else { if o.quiet == 2 { (...counts, complete = if failed { 0 } else { 1 }) } else {
  # separate error calls: a map cannot have a string that differs between batch
  # elements
  if failed { why(text -> error(text)) }
  counts
} }
# The first element that is not finite, or -1.
_not_finite(v) = {
  bad = f64(not (abs(v) < inf))
  if max(bad) > 0 { argmax(bad) } else { -1 }
}
_why_not_finite(t, y, v, i, o, say) =
  say(
    "no solution beyond t = {_clock(o, t)}: element {i} of the right-hand side is not finite "
    "there, {v[i]}; {_last_values(o, y)}. A division by zero, or a root or logarithm of a negative "
    "number? nan_check(f, t, y; inf = true) names it")
_last_values(o, y) = {
  few = if len(y) <= 6 { "the" } else { "the first" }
  names = if o.names == "" { "" } else { ", where y = ({join(_state_words(o.names), ", ")})" }
  "{few} values are y = {y[..min(6, len(y))]}{names}"
}
_state_words(names) = {
  words = list()
  for line in lines(names) {
    (name, size) = split(line, "\t")
    words = push(words, if size == "0" or size == "1" { name } else { "{name}[0..{size}]" })
  }
  words
}
_jumps_there =
  ("Such short steps mostly say that the right-hand side jumps there, back and forth: make the "
    "place of the jump an event, or smooth it")

# Calls run(f, jac, t0, t1, o) with times shifted to start near 0, if the
# interval is short relative to its times: at 1e12 s, times are rounded to 1e-4
# s, but not in shifted time. Rows have the requested times. o.clock: the shift.
_from_zero(f, jac, t0, t1, o, run) = {
  begin = stop_gradient(f64(t0))
  c = where(abs(begin) > 1e3 * abs(stop_gradient(f64(t1)) - begin), begin, 0.0)
  if not _asks_all(o.saveat) { if c != 0 { _check_saveat(o.saveat, t0, t1) } }
  (times, Y, stats) = run((s, y) -> f(c + s, y), (s, y) -> jac(c + s, y), t0 - c, t1 - c,
    (...o, saveat = if _asks_all(o.saveat) { o.saveat } else { o.saveat - c }, clock = c))
  (times + c, Y, stats)
}
# The time for messages.
_clock(o, t) = if has(o, "clock") { o.clock + t } else { t }

# Dense Jacobian, row by row of the result: J[i, j] = d f_i / d u_j.
_rows_jacobian(f, u) = _jacobian(f, u)

# The host calls. The pattern is the sparsity of the Jacobian by columns.
# linear: 0 dense, 1 the faster one, 2 banded, 3 sparse, 4 iterative.
_linear(m, o) = if kind(o.pattern) == "none" {
  0
} else if has(m, "linear") and m.linear > 0 {
  1 + m.linear
} else {
  1 + o.way
}
_by_cvode(m, f, jac, y0, t0, t1, o) = if has(o, "clock") {
  # its messages contain the time
  c = o.clock
  (times, Y, stats) =
    _by_cvode_at(m, (t, y) -> f(t - c, y), (t, y) -> jac(t - c, y), y0, t0 + c, t1 + c,
      (...o, saveat = if _asks_all(o.saveat) { o.saveat } else { o.saveat + c }))
  (times - c, Y, stats)
} else { _by_cvode_at(m, f, jac, y0, t0, t1, o) }
_by_cvode_at(m, f, jac, y0, t0, t1, o) = {
  dense = kind(o.pattern) == "none"
  (colptr, rowind) = if dense { (zeros(0), zeros(0)) } else { o.pattern }
  r = _host("ode", ((f, (t0, y0)), (jac, (t0, y0))),
    (y0, t0, t1, o.rtol, o.atol, i64(colptr), i64(rowind), o.saveat, _longest_step(m)),
            (m.order, _linear(m, o), m.degree, m.max_steps, o.names))
  (r[0], r[1], _stats(r[2]))
}
_until_cvode(m, f, jac, g, directions, stops, signs, y0, t0, t1, o) = {
  dense = kind(o.pattern) == "none"
  (colptr, rowind) = if dense { (zeros(0), zeros(0)) } else { o.pattern }
  _host("ode_until", ((f, (t0, y0)), (jac, (t0, y0)), (g, (t0, y0))),
        (y0, t0, t1, o.rtol, o.atol, i64(colptr), i64(rowind), zeros(0), _longest_step(m), signs),
        (m.order, _linear(m, o), m.degree, m.max_steps, o.partial, len(directions), ...directions,
          ...stops, o.names))
}
# The longest step of a method for the host calls; 0: unlimited.
_longest_step(m) = if has(m, "max_step") { _as_longest(m.max_step) } else { 0.0 }
_as_longest(h) = if h < inf { h } else { 0.0 }
_by_ida(m, F, jac, y0, id, t0, t1, o) =
  if kind(o.switches) == "none" { _by_ida_once(m, F, jac, y0, id, t0, t1, o) } else {
    y0 = y0 + o.switches.firm(t0) +
      _kept_knots(o.switches.whole, o.switches.watched, f64(t0), f64(t1), true) +
      (if has(o.switches, "bends") { _unbent(o.switches, t0) } else { 0.0 })
    s = stop_gradient(_restarts_along(o.switches, t0, t1, 1))
    m = _seeing(m, o.switches.watched, s, t0, t1)
    if _is_fixed(len(s)) { _by_ida_once(m, F, jac, y0, id, t0, t1, o) } else {
      (times, Y, stats) =
        _in_pieces((y, a, b, saveat) -> _by_ida_once(m, F, jac, y, id, a, b,
          (...o, saveat = saveat)), (y, s, a, b) -> y, s,
          _is_sharp(o.switches, t0), 5, y0, t0, t1, o.saveat)
      (times, Y + (if _is_sharp(o.switches, t0) { _unmoved(o.switches.whole, t0) } else { 0.0 }),
        stats)
    }
  }
# At an equilibrium or with an unexcited mode, derivatives are those of the
# equivalent y' = f(t, y) (_rate_of_implicit): IDAS takes low-order steps where
# only sensitivities move. For many unknowns they are those of IDAS in any case.
_by_ida_once(m, F, jac, y0, id, t0, t1, o) = {
  t0 = _held(t0, "the first time")
  (T, Y, counts) = _primal(() -> {
    (T, Y, stats) = _by_ida_steps(m, F, jac, y0, id, t0, t1, o)
    (T, Y, _counts(stats))
  })
  few = _has_few(y0)
  by_ida = at -> _by_ida_steps(m, F, jac, y0, id, t0, t1, (...o, saveat = at))[1]
  by_rate = at -> _by_rate_of_implicit(m, F, jac, y0, id, t0, t1, (...o, saveat = at), T, Y)
  (at, rows) = if _asks_all(o.saveat) {
    (at, rows, parts) = _primal(() -> _with_rest_of_implicit(F, T, Y, o))
    idle = not _are_uncut(parts)
    if few {
      moving = if idle { _between(at, t0, t1) } else { at }
      (moving, _value_of(() -> if idle { by_rate(moving) } else { by_ida(at) }, rows))
    } else { (at, _value_of(() -> by_ida(at), rows)) }
  } else {
    at = _held(o.saveat, "the times at which the solution is wanted")
    if few {
      idle = _primal(() -> _is_idle_implicit(F, t0, y0, T, Y, _stats(counts).steps, o))
      (at, _value_of(() -> if idle { by_rate(at) } else { by_ida(at) }, Y))
    } else { (at, _value_of(() -> by_ida(at), Y)) }
  }
  (at, rows, _stats(counts))
}
# A time with respect to which IDA's solutions have no derivative.
_held(t, what) = t
derivative _held(t, what), dt, dwhat = if _absent(dt) { 0.0 * t } else {
  _refuse("dae has no derivative with respect to {what}")
}
_by_ida_steps(m, F, jac, y0, id, t0, t1, o) = {
  dense = kind(o.pattern) == "none"
  (colptr, rowind) = if dense { (zeros(0), zeros(0)) } else { o.pattern }
  (y0, yp0) = _dae_start(F, jac, y0, id, t0, o)
  r = _host("dae", ((F, (t0, y0, y0)), (jac, (t0, y0, y0, 1.0))),
            (y0, yp0, id, t0, t1, o.rtol, o.atol, i64(colptr), i64(rowind), o.saveat,
              _longest_step(m)),
    (_linear(m, o), 5, m.max_steps, 1, o.names, o.equations))
  (r[0], r[1], _stats(r[2]))
}

_until_ida(m, F, jac, g, directions, stops, signs, y0, id, t0, t1, o) = {
  dense = kind(o.pattern) == "none"
  (colptr, rowind) = if dense { (zeros(0), zeros(0)) } else { o.pattern }
  (y0, yp0) = _dae_start(F, jac, y0, id, t0, o)
  _host("dae_until", ((F, (t0, y0, y0)), (jac, (t0, y0, y0, 1.0)), (g, (t0, y0))),
        (y0, yp0, id, t0, t1, o.rtol, o.atol, i64(colptr), i64(rowind), zeros(0), _longest_step(m),
          signs),
        (_linear(m, o), 5, m.max_steps, 1, o.partial, len(directions), ...directions, ...stops,
          o.names, o.equations))
}

# Calls run(jac, pattern) with a dense Jacobian and none, or for a large sparse
# system with its pattern. It applies to y' = f(t, y), and to F(t, y, y') = 0
# with F_y + c F_y'. It is for methods in which only Newton's iterations use the
# Jacobian (field `finds`), so the pattern does not affect derivatives.
_on_pattern_found(f, t0, y0, run) = {
  dense = () -> run((t, u) -> _rows_jacobian(v -> f(t, v), u), none)
  if not _auto_fits(f(t0, y0), y0) { dense() } else {
    _where_few(f, (t0, y0), 1, dense,
               p -> run((t, u) -> _compressed(v -> f(t, v), u, p), (p.column_start, p.rows)))
  }
}
_on_pattern_of(F, t0, y0, run) = {
  zero = zeros_like(y0)
  whole = (t, y, yp, c, v) -> F(t, y + v, yp + c * v)
  dense = () -> run((t, y, yp, c) -> _rows_jacobian(v -> F(t, v, yp), y) +
    c * _rows_jacobian(v -> F(t, y, v), yp), none)
  _where_few(whole, (t0, y0, zero, 1.0, zero), 4, dense, p ->
    run((t, y, yp, c) -> _compressed(v -> whole(t, y, yp, c, v), zeros_like(y), p),
      (p.column_start, p.rows)))
}
# A band, or at most a tenth of the elements, is faster than a dense matrix from
# about 30 unknowns on (measured).
_where_few(f, args, which, dense, few) = {
  n = len(args[which])
  if n < 32 { dense() } else {
    (rows, columns, column_start, row_start, place, colour, group_sizes, heavy, heavy_colour,
      heavy_sizes, term, part_of) =
      _primal(() -> {
        p = _pattern(f, args, which, false)
        (p.rows, p.columns, p.column_start, p.row_start, p.place, p.colour, p.group_sizes, p.heavy,
          p.heavy_colour, p.heavy_sizes, p.term, p.part_of)
      })
    if 10 * len(rows) > n^2 { dense() } else {
      few((rows = rows, columns = columns, column_start = column_start, row_start = row_start,
        place = place, colour = colour, group_sizes = group_sizes, heavy = heavy,
        heavy_colour = heavy_colour, heavy_sizes = heavy_sizes, term = term, part_of = part_of))
    }
  }
}

# A method's counters, in this order: steps, right-hand sides, Jacobians,
# factorisations, rejected steps, Newton iterations, failed Newton iterations.
_stats(s) =
  (steps = s[0], rhs = s[1], jacobians = s[2], factorisations = s[3], error_test_failures = s[4],
    newton = s[5], newton_failures = s[6])

# ---- solutions as functions

# Checks that x, of any shape, is in the domain of a solution, between a and b
# in either order. A point outside within rounding is moved to the end; others
# are an error.
_known_at(name, a, b, x) = {
  (a, b, v) = (stop_gradient(a), stop_gradient(b), stop_gradient(x))
  (lo, hi) = (min(a, b), max(a, b))
  # many small steps may end slightly beside the end
  slack = where(hi - lo < inf, 1e-9 * (hi - lo) + 1e-15 * max(abs(lo), abs(hi)), 1e-9 * abs(b))
  # a scalar needs no search; this saves operations in a map
  lost = v < lo - slack or v > hi + slack
  if any(lost) {
    at = if rank(v) == 0 { v } else { ravel(v)[argmax(ravel(max(lo - v, v - hi)))] }
    error(
      "the solution is known for {name} from {a:.9g} to {b:.9g}, and does not say how things are "
      "at {at:.9g}")
  }
  x + (clamp(v, lo, hi) - v)
}
# Applies `one` to a scalar, or to each element of an array, whose axes then
# come first.
_for_each(one, x) = if rank(x) == 0 { one(x) } else {
  all = map(one, ravel(x))
  reshape(all, ...shape(x), ...shape(all)[1..])
}
# `one`, a function of a scalar, as a function on the interval from the first to
# the last of times.
_over_times(name, times, one) = t -> _for_each(one, _known_at(name, times[0], times[-1], f64(t)))

# The solution as a function of t; a scalar t gives one row of Y. For a whole
# solution: the integrator's polynomial through the d + 1 nodes of each step.
# For values at chosen times: the interpolant of the four times nearest to t, or
# all if fewer, exact at those times.
_dense_steps(times, Y, starts, d) = t -> _through_step(times, Y, starts, d, t)
_dense(times, Y, d, whole) = if whole { t -> _through_nodes(times, Y, d, t) } else {
  sizes = max(abs(stop_gradient(Y)); axis = 0)
  sizes = sizes + 1e-6 * max(concat([0.0], sizes)) + 1e-300
  t -> _between_saved(times, Y, sizes, t)
}

# Between saved times: interpolation of the four nearest. It is an error if
# these do not determine the value, which is estimated with a different set of
# times, or with fewer if there are no more.
_between_saved(times, Y, sizes, t) = {
  n = len(times)
  (T, at) = (stop_gradient(times), stop_gradient(t))
  before = sum(i64(if n > 1 and T[-1] < T[0] { T > at } else { T < at }))
  y = _through_nearest(times, Y, t)
  base = max(min(before - 2, n - 4), 0)
  early = base == 0 and 2 * before > min(n, 4)
  (first, last) =
    if base > 0 { (0, base + 3) } else if n > 4 or early { (1, n) } else { (0, n - 1) }
  off = if min(abs(T - at)) <= 1e-12 * max(abs(T)) { 0.0 } else {
    _rms((stop_gradient(y) - _through_nearest_of(T, stop_gradient(Y), at, first, last)) / sizes)
  }
  if off > 1e-3 {
    error(
      "the solution was saved at {n} times, and between them it is told to {100 * off:.2g} % only: "
      "save more of them, or leave saveat out")
  }
  y
}
_through_nearest(times, Y, t) = _through_nearest_of(times, Y, t, 0, len(times))
# The same for the rows from `first` to n.
_through_nearest_of(times, Y, t, first, n) = {
  before = if times[-1] >= times[0] {
    sum(i64(times < stop_gradient(t)))
  } else {
    sum(i64(times > stop_gradient(t)))
  }
  base = max(min(before - 2, n - 4), first)
  at = list(...map(k -> min(base + k, n - 1), list(0, 1, 2, 3)))
  y = 0.0 * Y[0]
  for j in list(0, 1, 2, 3) {
    w = if base + j < n { 1.0 } else { 0.0 }
    for k in list(0, 1, 2, 3) {
      if k != j {
        # of equal times the first one counts
        apart = times[at[j]] - times[at[k]]
        w = if at[k] != at[j] and base + k < n {
          if apart == 0 { if k < j { 0.0 } else { w } } else { w * ((t - times[at[k]]) / apart) }
        } else { w }
      }
    }
    y = y + w * Y[at[j]]
  }
  y
}

_through_nodes(times, Y, d, t) = _through_step(times, Y, iota((len(times) - 1) // d) * d, d, t)
# The same where step k begins in row starts[k]. After an event that changes the
# state two rows have the same time, and a function of t returns the first.
_through_step(times, Y, starts, d, t) = if len(starts) == 0 { Y[0] } else {
  ends = times[starts + d]
  s = if times[-1] >= times[0] {
    sum(i64(ends < stop_gradient(t)))
  } else {
    sum(i64(ends > stop_gradient(t)))
  }
  _through_one(times, Y, starts[min(s, len(starts) - 1)], d, t)
}
# The polynomial through rows base to base + d. For a step so short that
# rounding distorts its nodes, linear interpolation.
_through_one(times, Y, base, d, t) = {
  (first, last) = (times[base], times[base + d])
  if abs(stop_gradient(last - first)) <= 4 * d * 2.3e-16 * abs(stop_gradient(last)) {
    w = if first == last { 1.0 } else { (t - first) / (last - first) }
    Y[base] + w * (Y[base + d] - Y[base])
  } else {
    y = 0.0 * Y[0]
    for j in each(d + 1) {
      w = 1.0
      for k in each(d + 1) {
        if k != j { w = w * ((t - times[base + k]) / (times[base + j] - times[base + k])) }
      }
      y = y + w * Y[base + j]
    }
    y
  }
}
