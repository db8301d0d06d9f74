# dde.dsl - delay differential equations y'(t) = f(t, y(t), y(t - lag), ...), by
# the method of steps on the dense output of any integrator.
#
# Method: A. Bellen and M. Zennaro, Numerical Methods for Delay Differential
# Equations, Oxford 2003, ch. 3 and 4.
#
# The solution is computed in pieces that end where a delayed time reaches a
# breaking point. The first breaking point is the initial time, where the
# history need not fit. Its successors are smoother by one derivative each.
# Within a piece every delayed state is a known smooth function of time, so the
# piece is an ordinary initial value problem.
#
# Where a lag is too short for that, the piece is iterated on itself. This
# applies to zero lags, and to lags far shorter than the steps once all breaking
# points ahead are smoother than the method resolves. The length of such a piece
# adapts: it is halved when the iteration does not converge, and doubled when it
# converges fast. It does not depend on the length of the interval.

# dde(f, y0, (t0, t1); lags, past, method, rtol, atol, saveat): solves y' = f(t,
# y, Z) with Z[j] = y(t - lag j), from y(t0) = y0.
#   lags: scalars or functions (t, y) -> lag, all >= 0; one, or a list of
#   several, which may be empty. past: y before t0, a function of t; by default
#   y0. f returns f64[n]; Z is f64[number of lags, n]. method: an integrator of
#   y' = f(t, y), by default dop853().
#   The result is a record: y, a function of t including the past; times;
#   values; stats; breaks: the times at which pieces end. Derivatives with
#   respect to y0, times, lags and captured values are those of the pieces.
#     r = dde((t, y, Z) -> -Z[0], [1.0], (0.0, 5.0); lags = 1.0, past = t -> [0.0], rtol = 1e-10, atol = 1e-12);
#     r.y(2.5)                       #~ [-3/8] tol 1e-8
#     r.y(5.0)                       #~ [5/24] tol 1e-8
dde(f, y0, span; lags = 1.0, past = none, method = dop853(), rtol = 1e-6, atol = 1e-9,
  saveat = []) = {
  all = if kind(lags) == "array" {
    if rank(lags) == 0 { list(lags) } else { list(...map(k -> lags[k], each(len(lags)))) }
  } else {
    if kind(lags) == "function" { list(lags) } else { list(...lags) }
  }
  y = f64(y0)
  if kind(past) != "none" and kind(past) != "function" {
    _refuse("past is a function of t, the state before the beginning: past = t -> [0.0]")
  }
  before = if kind(past) == "none" { t -> y } else { t -> f64(past(t)) }
  t0 = f64(span[0])
  t1 = f64(span[1])
  if t1 < t0 { error("a delay differential equation goes forward in time, not from {t0} to {t1}") }
  if rank(y) != 1 { _refuse("y0 of a delay differential equation is a vector") }
  for l in all {
    at = t0 - _lag(l, t0, y)
    if shape(before(at)) != shape(y) {
      error(
        "past gives {shape(before(at))} for a state of {len(y)} numbers: a vector like y0, for "
        "each t before the beginning")
    }
  }
  delayed = if len(all) == 0 {
    zeros(0, len(y))
  } else {
    stack(list(...map(l -> before(t0 - _lag(l, t0, y)), all)))
  }
  first = f(t0, y, delayed)
  if rank(first) != 1 or len(first) != len(y) {
    error(
      "the right-hand side of a delay differential equation gives {shape(first)} for a state of "
      "{len(y)} numbers")
  }
  if len(all) == 0 {
    r = ode((t, y) -> f(t, y, delayed), y, (t0, t1); method = method, rtol = rtol, atol = atol,
      saveat = saveat)
    (...r, y = _with_past(before, t0, t1, r.y), breaks = [t0])
  } else {
    _dde_by_lags(f, y, before, all, delayed, t0, t1, method, rtol, atol, saveat,
      kind(past) != "none")
  }
}
# The past before t0 and the function `one` up to t1, for times of any shape.
_with_past(before, t0, t1, one) =
  t -> _for_each(s -> if stop_gradient(s) < stop_gradient(t0) { before(s) } else { one(s) },
    _known_at("t", -inf, t1, f64(t)))
_dde_by_lags(f, y, before, all, delayed, t0, t1, method, rtol, atol, saveat, told) = {
  clock =
    (compared = t -> _clock_switches(f, t, y, delayed), watched = t -> _watched(f, t, y, delayed),
      tables = t -> _clock_tables(f, t, y, delayed), bends = t -> _clock_bends(f, t, y, delayed),
      hides = t -> _hides_switches(f, t, y, delayed), firm = t -> _firm_rate(f, t, y, delayed))
  switches = _restarts_along(clock, t0, t1, _parts_of_pulses(method))
  # the history may jump, too: when a delayed time reaches a jump, a piece ends
  longest = max(_numbers(map(l -> stop_gradient(_lag(l, t0, y)), all)))
  (from, to) = (t0 - longest, t0)
  earlier =
    (compared = t -> _clock_switches(before, t), watched = t -> _watched(before, t),
      tables = t -> _clock_tables(before, t))
  # of its tables the jumps, but not the kinks
  jumps = if not told { zeros(0) } else {
    _with_bent_knots(earlier, _breaks_along(earlier, from, to, false), from, to, 0)
  }
  method = _seeing(method, clock.watched, switches, t0, t1)
  y = y + clock.firm(t0) +
    (if told and _hides_switches(before, t0) { _firm(before, t0) } else { 0.0 })
  _by_pieces(f, y, before, all, switches, _is_sharp(clock, t0), jumps, t0, t1, method,
    _integration(y, none, (rtol = rtol, atol = atol, saveat = [])), f64(saveat))
}

_lag(l, t, y) = if kind(l) == "function" { f64(l(t, y)) } else { f64(l) }

# y at s from rows: in the step that contains s, or in the first or last step
# inside [lo, hi] if s is outside.
_looked_up(T, Y, starts, ends, d, lo, hi, s) = {
  inside = 1e-9 * (hi - lo)
  k = searchsorted(ends, clamp(stop_gradient(s), lo + inside, hi - inside); side = "left")
  _through_one(T, Y, starts[min(k, len(starts) - 1)], d, s)
}

# s, moved a few rounding units into the interval from lo to hi, because a
# history may jump at its ends.
_kept_between(lo, hi, size, s) = {
  some = 8 * 2.3e-16
  near = max(some * abs(stop_gradient(s)), min(some * size, 1e-10 * (hi - lo)))
  s + stop_gradient(min(max(s, lo + near), hi - near) - s)
}

_by_pieces(f, y0, before, lags, switches, sharp, jumps, t0, t1, m, o, saveat) = {
  many = len(lags)
  # a dummy step of y0 before the first one, so that there is always a step; it
  # is not part of the result
  d = m.degree
  T = stop_gradient(t0) - 1 + iota(d + 1) / d
  Y = expand(y0, 0) + 0.0 * expand(T, 1)
  starts = iota(1)
  # breaking points, which move with their causes, and how often each has been
  # smoothed
  B = concat(jumps, expand(t0, 0))
  level = i64(zeros(len(B)))
  # comparisons by t alone in f also end pieces
  gap = _gaps(t0, switches, t1, sharp)
  begins = switches + gap[1..-1]
  stops = concat(switches, expand(t1, 0)) - gap[1..]
  piece = 0
  t = t0
  y = y0
  stats = i64(zeros(9))
  span = abs(stop_gradient(t1 - t0))
  fastest = 0.0   # rates of perturbations that steps must resolve
  far = 0.02 * span   # the length of a piece that is iterated on itself
  # the number of consecutive one-step pieces, which indicate that steps could
  # be longer than the lag
  plain = 0
  open = t != t1
  pieces = 0
  while open {
    now = _numbers(map(l -> stop_gradient(t - _lag(l, t, y)), lags))
    if min(stop_gradient(t) - now) < 0 { error("dde: a lag is negative at t = {t:.9g}; y is {y}") }
    tiny = 1e-12 * (span + abs(t))
    # the limit of each delayed time in this piece: the next breaking point, at
    # most the present
    reach = map(a -> {
      ahead = where(B > a + tiny, stop_gradient(B), inf)
      if min(ahead) <= t { B[argmin(ahead)] } else { stop_gradient(t) }
    }, now)
    from = map(a -> stop_gradient(max(where(B <= a + tiny, B, -inf))), now)
    ends = T[starts + m.degree]
    state = (T, Y, starts, ends, lo, hi, s) -> if hi <= stop_gradient(t0) {
      before(_kept_between(lo, hi, abs(stop_gradient(t0)) + abs(stop_gradient(t1)), s))
    } else {
      _looked_up(T, Y, starts, ends, m.degree, max(lo, stop_gradient(t0)), hi, s)
    }
    Z =
      (s, u) ->
      stack(
        list(...map(j -> state(T, Y, starts, ends, from[j], stop_gradient(reach[j]),
          s - _lag(lags[j], s, u)),
          each(many))))
    shortest = min(stop_gradient(t) - now)
    # steps do not cross breaking points that a delayed time has yet to reach,
    # including the present
    broken = max(map(a -> max(f64(B > a + tiny)), now)) > 0
    short = shortest <= tiny or (not broken and shortest < far / 8)
    end = if short { min(t + far, stops[piece]) } else { stops[piece] }
    if not short {
      # a lag that is a function is monitored, and its delayed time stays close
      # to the known solution
      for (j, l) in enumerate(lags) {
        known = if kind(l) != "function" {
          reach[j] + _lag(l, t, y)
        } else {
          _foreseen(l, f, Z, t, y, now[j], reach[j])
        }
        # if both coincide, the time is that of a switch or of the end
        end = if known < end { known } else { end }
      }
    }
    (times, rows, counts, turns) = if short {
      _iterated(f, before, lags, t0, T, Y, starts, t, y, end, m, o)
    } else {
      (times, rows, counts, rate) =
        _piece((s, u) -> f(s, u, Z(s, u)), lags, reach, t, y, end, m, o, fastest)
      fastest = rate
      (times, rows, counts, 0)
    }
    stats = stats + counts
    if turns > _most_turns() {
      far = 0.5 * far
      if not (far > 1e-10 * span) {
        error(
          "dde: the piece from t = {t:.9g} to {end:.9g}, into which a lag points, does not settle "
          "in {_most_turns()} turns; the state is {y}")
      }
    } else {
      far = if short and turns <= _most_turns() // 2 { min(2 * far, span) } else { far }
      plain = if short or len(times) > m.degree + 1 { 0 } else { plain + 1 }
      if plain >= 100 { far = 16 * shortest; plain = 0 }
      starts = concat(starts, len(T) + m.degree * iota((len(times) - 1) // m.degree))
      T = concat(T, times)
      Y = concat(Y, rows)
      t = times[-1]
      y = rows[-1]
      breaking = t
      if many + len(begins) > 1 {
        at_switch = if piece < len(begins) { t >= stops[piece] } else { false }
        crossed =
          stop_gradient(if at_switch { stack(stops[piece], begins[piece]) } else { t + zeros(2) })
        at = (lo, hi, s) -> state(T, Y, starts, T[starts + m.degree], lo, hi, s)
        (y, breaking) =
          _among_delays(f, lags, at, B, from, reach, t, y, f64(not short), tiny, crossed)
      }
      # the break at the delayed time recurs here, one derivative smoother
      hit = 99
      for j in 0..many {
        a = stop_gradient(t - _lag_at(lags, j, t, y))
        near = abs(B - a) <= 1e3 * tiny
        hit = min(hit, min(where(near, level, 98)) + 1)
      }
      if hit <= m.degree + 1 { B = push(B, breaking); level = push(level, hit) }
      if piece < len(begins) and t >= stops[piece] {
        t = begins[piece]
        B = push(B, t)
        level = push(level, 0)
        piece = piece + 1
      }
    }
    pieces = pieces + 1
    if pieces > 100000 {
      error(
        "dde: more than 100000 pieces on the way to t = {t1:.9g}; the last ends at {t:.9g}, the "
        "lags there are {t - now}")
    }
    open = t < stops[-1]
  }
  if len(T) > d + 1 { T[-1] = t1 }
  ends = T[starts + m.degree]
  first = stop_gradient(t0)
  last = stop_gradient(t1)
  solution = _with_past(before, t0, t1, s -> if len(T) > d + 1 {
    _looked_up(T, Y, starts, ends, d, first, last, s)
  } else { y0 })
  own = min(d + 1, len(T) - 1)
  (times, values) =
    if len(saveat) == 0 { (T[own..], Y[own..]) } else { (saveat, map(solution, saveat)) }
  _check_rows(y0, times, values, o)
  (y = solution, times = times, values = values, stats = _stats(stats), method = m.name, breaks = B)
}
# The predicted time at which the delayed time slightly exceeds its limit.
_foreseen(l, f, Z, t, y, now, reach) = {
  t = stop_gradient(t)
  u = stop_gradient(y)
  speed = 1 - jvp(q -> _lag(l, q[0], q[1]), (t, u), (1.0, f(t, u, stop_gradient(Z(t, u)))))[1]
  t + stop_gradient(if speed > 0 {
    min(1.05 * (reach - now) / speed, 4 * (t - now))
  } else {
    t - now
  })
}
# y, the state at t, where several delayed times may have reached breaking
# points, or one where f switches, between the times `crossed` if these differ
# (_one_by_one); and t as a breaking point.
_among_delays(f, lags, state, breaks, from, reach, t, y, counts, tiny, crossed) = {
  m = len(lags)
  over = (s, u) -> _numbers(map(l -> s - _lag(l, s, u), lags)) - reach
  here = stop_gradient(reach)
  hit = counts * f64(abs(stop_gradient(over(t, y))) <= 1e3 * tiny and here < t)
  later = a -> min(where(breaks > a + tiny, stop_gradient(breaks), stop_gradient(t)))
  next = map((a, hit) -> if hit > 0 { later(a) } else { a }, here, hit)
  delayed = behind -> (s, u) -> stack(list(...map(j -> {
    (lo, hi) = if behind[j] > 0 { (here[j], next[j]) } else { (from[j], here[j]) }
    state(lo, hi, s - _lag(lags[j], s, u))
  }, each(m))))
  # placeholder values, which do not affect the result
  Z = zeros(m, len(y))
  c = s -> _clock_turns(f, s, stop_gradient(y), Z)
  when = (k, F, t, y) -> _event_time(F, over, k, t, y)
  if _is_fixed(len(c(t))) and len(c(t)) == 0 {
    if sum(hit) < 2 { (y, t) } else {
      rate = (place, i) -> { Z = delayed(hit * f64(place < i)); (s, u) -> f(s, u, Z(s, u)) }
      comes = map(j -> if kind(lags[j]) == "function" {
        if hit[j] > 0 { when(j, rate(zeros_like(hit), 0), t, y) } else { t }
      } else { reach[j] + _lag(lags[j], t, y) }, each(m))
      (_one_by_one(rate, when, y, t, hit), _met_at(rate, hit, comes, t, y))
    }
  } else {
    (changes, turned) = _primal(() -> _turns_between(c, crossed[0], crossed[1]))
    met = concat(hit, turned)
    if sum(met) < 2 { (y, t) } else {
      beside = stop_gradient(crossed - t)
      (_one_by_one((place, i) -> {
        Z = delayed(hit * f64(place[..m] < i))
        sides = _sides_after(changes, turned, place[m..], i, sum(met))
        (s, u) -> _clock_sides(f, sides, s + beside[0], s + beside[1], s, u, Z(s, u))
      }, (k, F, t, y) -> if k < m {
        when(k, F, t, y)
      } else {
        _moving_zero(s -> c(s)[k - m], stop_gradient(t))
      }, y, t, met), t)
    }
  }
}
# t as a breaking point that several delayed times reach together. It is one
# point, although each delayed time has its own arrival time. If the rate jumps
# there, second derivatives would need all arrival times; if the rate's
# derivative jumps, third ones would. These are errors. comes: the arrival time
# of each.
_met_at(rate, hit, comes, t, y) = {
  none_yet = zeros_like(hit)
  (t0, y0) = (stop_gradient(t), stop_gradient(y))
  (f, g) = (rate(none_yet, 0), rate(none_yet, 1))
  (before, behind) = (stop_gradient(f(t0, y0)), stop_gradient(g(t0, y0)))
  apart = where(hit > 0, stack(...comes) - t, 0.0)
  if _differ(before, behind) { _as_one(t, apart) } else {
    slope = r -> stop_gradient(jvp(q -> r(q[0], q[1]), (t0, y0), (1.0, before))[1])
    if _differ(slope(f), slope(g)) { _nearly_one(t, apart) } else { t }
  }
}
_differ(a, b) = max(abs(b - a)) > 1e-9 * (max(abs(a)) + max(abs(b)))
_as_one(t, apart) = t
derivative _as_one(t, apart), dt, dapart = dt + sum(_of_one(apart) * dapart)
_of_one(apart) = 0.0 * apart
derivative _of_one(apart), dapart = _unknown_apart(apart, "the rate", "second") * dapart
_nearly_one(t, apart) = t
derivative _nearly_one(t, apart), dt, dapart = dt + sum(_of_nearly_one(apart) * dapart)
_of_nearly_one(apart) = 0.0 * apart
derivative _of_nearly_one(apart), dapart = _changes_of_one(apart) * dapart
_changes_of_one(apart) = 0.0 * apart
derivative _changes_of_one(apart),
  dapart = _unknown_apart(apart, "the slope of the rate", "third") * dapart
_unknown_apart(apart, what, which) = { if max(abs(apart)) < inf { _say_apart(what, which) }; 0.0 }
_say_apart(what, which) = error(
  "dde: lags that are equal come to a jump of {what} at one time, and {which} derivatives by them "
  "are not known; by lags that differ by 1e-6 they are")
_lag_at(lags, j, t, y) = _numbers(map(l -> _lag(l, t, y), lags))[j]

# One piece whose delayed times stay in the known solution. It ends at `end`, or
# where a state-dependent delayed time reaches its limit.
#
# If a perturbation is faster than the solution, which may be at an equilibrium,
# the piece is integrated again with shorter steps. fastest: the fastest rate of
# perturbations in earlier pieces; the last result includes this piece.
_piece(F, lags, reach, t, y, end, m, o, fastest) = {
  jac = (s, u) -> _rows_jacobian(v -> F(s, v), u)
  events = list()
  for (j, l) in enumerate(lags) {
    if kind(l) == "function" {
      events = push(events,
        event((s, u) -> s - _lag(l, s, u) - reach[j]; direction = "rising", terminal = true))
    }
  }
  run = m -> if len(events) == 0 {
    (times, rows, counts) = m.integrate(m, F, jac, y, t, end, o)
    (times, rows, _counts(counts))
  } else {
    r = _integrate_events(m, F, jac, y, t, end, o, events)
    (r.times, r.values, r.stats)
  }
  if _is_given_steps(m) { (...run(m), fastest) } else {
    (times, rows) = (zeros(1), zeros(1, len(y)))
    counts = i64(zeros(9))
    longest = m.max_step + 0.0
    open = true
    while open {
      (times, rows, counts) = run((...m, max_step = longest))
      d = m.degree
      rate = _primal(() -> _rate_of_changes(m, F, jac, times, rows, o, fastest))
      h = _step_for_changes(m, rate, o)
      ends = stop_gradient(times[d * iota((len(times) - 1) // d + 1)])
      open = rate > 0 and h < longest and max(concat([0.0], abs(diff(ends)))) > h
      if open and not (abs(stop_gradient(end - t)) <= 1e5 * h) {
        open = false
        rows = _unfollowed(rows, rate)
      }
      longest = if open { h } else { longest }
      fastest = max(fastest, rate)
    }
    (times, rows, counts, fastest)
  }
}

# The rows. Their derivative is an error, because it would need too many steps.
_unfollowed(rows, rate) = rows
derivative _unfollowed(rows, rate), drows, drate = _unfollowed_change(rate) * drows
_unfollowed_change(rate) = { if rate > 0 { _say_unfollowed(rate) }; 1.0 }
_say_unfollowed(rate) = error(
  "dde: a change of this solution, which rests, is as fast as {rate:.3g} a unit of time, and its "
  "derivative would take more than 100000 steps: an implicit method, as rodas5p(), has it if the "
  "change decays")
# One piece whose delayed times are inside it. Fixed-point iteration starts from
# a constant solution, until nothing changes. The last result is the number of
# iterations; more than _most_turns means no convergence.
_most_turns() = 12
_iterated(f, before, lags, t0, T0, Y0, starts0, t, y, end, m, o) = {
  d = m.degree
  first = stop_gradient(t0)
  c = 0.5 - 0.5 * cos(π * iota(d + 1) / d)
  times = t + c * (end - t)
  rows = expand(y, 0) + 0.0 * expand(times, 1)
  counts = i64(zeros(9))
  change = inf
  turn = 0
  while not (change <= 0.1) and turn < _most_turns() {
    T = concat(T0, times)
    Y = concat(Y0, rows)
    starts = concat(starts0, len(T0) + d * iota((len(times) - 1) // d))
    ends = T[starts + d]
    Z = (s, u) -> stack(list(...map(l -> {
      a = s - _lag(l, s, u)
      if a < first {
        before(a)
      } else {
        _looked_up(T, Y, starts, ends, d, first, stop_gradient(end), a)
      }
    }, lags)))
    F = (s, u) -> f(s, u, Z(s, u))
    (new_times, new_rows, counted) =
      m.integrate(m, F, (s, u) -> _rows_jacobian(v -> F(s, v), u), y, t, end, o)
    old = map(s -> _looked_up(T, Y, starts, ends, d, stop_gradient(t), stop_gradient(end), s),
      new_times)
    change =
      max(abs(stop_gradient(new_rows - old)) /
        (expand(o.atol, 0) + o.rtol * abs(stop_gradient(new_rows))))
    counts = counts + _counts(counted)
    times = new_times
    rows = new_rows
    turn = turn + 1
  }
  (times, rows, counts, if change <= 0.1 { turn } else { _most_turns() + 1 })
}
