# events.dsl - events of differential equations: zeros of functions of the
# solution, and their effects.
#
# A method may locate zeros itself (its field `until`); for others each piece is
# integrated, then searched.
#
# Contract: derivatives do not depend on how a zero was found. The event time
# moves by the implicit function theorem, the state there moves with the flow,
# and the next piece starts at a moving time and state. Derivatives of every
# order with respect to parameters, initial values and times therefore follow
# from those of the pieces.

# event(g; direction, terminal, then, name): an event for ode(...; events =
# ...), where g(t, y) passes through 0.
#   direction: "any", "rising" or "falling" (also 0, 1, -1), of g along the
#   solution. terminal: the solution ends there. then: (t, y) -> y, the state
#   after the event, from which the solution continues. A right-hand side that
#   jumps at g = 0 needs then = (t, y) -> y, so that the integrator restarts
#   there instead of stepping across.
#   Two zeros between two nodes of a step are found if g has one extremum
#   between them. A zero at the initial time is no event, and neither is one at
#   the start of a piece after another event. A zero at the final time is an
#   event, within rounding; its result appears in events.after only.
#   Simultaneous events act in the given order, and derivatives assume this
#   order. An event at a time where f switches by t acts after the switch. name:
#   the result has the records of this event in events by that name: times,
#   states and after.
#     drop = event((t, y) -> y[0]; terminal = true)
#     r = ode((t, y) -> [y[1], -9.81], [10.0, 0], (0.0, 100.0); events = drop, rtol = 1e-10);
#     r.events.times                 #~ [sqrt(20/9.81)] tol 1e-9
event(g; direction = "any", terminal = false, then = none, name = "") =
  (g = g, direction = _direction(direction), terminal = terminal, then = then, name = name)
_direction(d) = if kind(d) == "string" {
  if d == "rising" { 1 } else {
    if d == "falling" {
      -1
    } else {
      if d == "any" {
        0
      } else {
        error("a direction is \"rising\", \"falling\" or \"any\", not \"{d}\"")
      }
    }
  }
} else { d }

_event_list(events) = if kind(events) == "none" { list() } else { _events_given(events) }
_events_given(events) = if kind(events) == "record" { list(events) } else { list(...events) }
_numbers(xs) = if len(xs) == 0 { zeros(0) } else { stack(xs) }
_event_value(e, t, y) = {
  v = e.g(t, y)
  if dtype(v) == "bool" {
    _refuse(
      "the expression of an event is a number that passes through zero; this one is true or false: "
      "of `u > 2` write `u - 2`, which is rising there")
  }
  v = f64(v)
  if rank(v) != 0 {
    _refuse(
      "the expression of an event is one number, of which a sign is asked; this one is an array")
  }
  v
}
_stops(e) = e.terminal or kind(e.then) != "none"

# v, with the derivative of run(), whose value it is. run() is evaluated only
# when a derivative is needed.
_value_of(run, v) = v
derivative _value_of(run, v), drun, dv = drun()

# y(t) of the solution through (s, y) at t = s: y itself. Its derivatives up to
# the fourth are those of one step of Kutta's method.
_flow(f, s, y, t) = _value_of(() -> _rk4(f).step(s, y, t - s, f(s, y))[0], y)

# The time s at which g[k] is zero on the solution through (s, y).
_event_time(f, g, k, s, y) = _zero_at(t -> g(t, _flow(f, s, y, t))[k], s)

# y' = f(t, y) with events. Returns times, values, the first row of each step
# (the dense output uses degree + 1 rows from there), counts, and the events.
_integrate_events(m, f, jac, y0, t0, t1, o, events) = {
  all = _event_list(events)
  g = (t, y) -> _numbers(map(e -> _event_value(e, t, y), all))
  clock = _clock_in(o, f, y0)
  y0 = y0 + clock.firm(t0)
  switches = _restarts_along(clock, t0, t1, _parts_of_pulses(m))
  m = _seeing(m, clock.watched, switches, t0, t1)
  _pass_events((degree = m.degree, switches = switches, sharp = _is_sharp(clock, t0),
    until = (directions, stops, signs, t, y, b) -> if has(m, "until") {
      m.until(m, f, jac, g, directions, stops, signs, y, t, b, o)
    } else {
      _primal(() -> _until_searched(m, f, jac, g, directions, stops, signs, y, t, b, o))
    },
    # a repeated run may give up slightly earlier: then partial rows suffice
    known = (t, y, times, rows, short, keeping) -> _value_of(() -> {
      until = _ended_before(times, short)
      o = (...o, saveat = until, quiet = o.partial)
      if has(m, "until") { _go(m, f, jac, y, t, until[-1], o)[1] } else {
        # the differentiated steps differ slightly from those that found the
        # event, and do not evaluate f beyond it
        aside = keeping()
        kept = F -> (s, u) -> { a = aside(s, u); F(s + a[0], u + a[1..]) }
        _go(m, kept(f), kept(jac), y, t, until[-1], o)[1]
      }
    }, rows),
    cut = (times, rows) -> if _is_given_steps(m) { (times, rows, _uncut(times, m.degree)) } else {
      _primal(() -> _with_rest(f, jac, times, rows, m, o))
    },
    rate = f, across = (y, s) -> _across(f, y, s[0], s[1], s[2]),
    on_side = (side, s) -> _on_side(f, side, y0, s),
    rests = (again, t, y, o) -> _rests_on(g, f, again, t, y, o),
    beside = (aside, slope, side, s) -> {
      on = if _is_fixed(len(switches)) { f } else { _on_side(f, side, y0, s) }
      (t, y) -> on(t + aside[0], y + aside[1..])
  }), g, all, y0, t0, t1, o)
}

# F(t, y, y') == 0 with events. Near an event the solution also satisfies an
# equation y' = rate(t, y), so rows and times have derivatives of every order.
_integrate_events_implicit(m, F, jac, y0, id, t0, t1, o, events) = {
  all = _event_list(events)
  g = (t, y) -> _numbers(map(e -> _event_value(e, t, y), all))
  y0 = y0 + (if kind(o.switches) == "none" { 0.0 } else { o.switches.firm(t0) })
  switches = if kind(o.switches) == "none" { zeros(0) } else {
    stop_gradient(_restarts_along(o.switches, t0, t1, 1))
  }
  m = if kind(o.switches) == "none" { m } else { _seeing(m, o.switches.watched, switches, t0, t1) }
  _pass_events((degree = 5, switches = switches,
    sharp = if kind(o.switches) == "none" { false } else { _is_sharp(o.switches, t0) },
    until = (directions, stops, signs, t, y, b) -> m.until_implicit(m, F, jac, g, directions, stops,
      signs, y, id, t, b, o),
    known = (t, y, times, rows, short, keeping) -> {
      fixed = _ended_before(stop_gradient(times), short)
      rate = _rate_of_implicit(F, id, _slope_at(times, rows, 5, 0))
      u = _flow(rate, t, y, stop_gradient(t))
      r =
        _value_of(() -> m.implicit(m, F, jac, u, id, fixed[0], fixed[-1],
          (...o, saveat = fixed))[1], rows)
      r[0] = _flow(rate, stop_gradient(t), r[0], t)
      r
    },
    cut = (times, rows) -> (times, rows, _uncut(times, 5)),
    rate = (t, y) -> 0.0 * y, across = (y, s) -> y, on_side = (side, s) -> (t, y) -> 0.0 * y,
    rests = (again, t, y, o) -> false,
    beside = (aside, slope, side, s) ->
    _rate_of_implicit((t, y, yp) -> F(t + aside[0], y + aside[1..], yp), id, slope)),
    g, all, y0, t0, t1, o)
}
# f with y' = f(t, y) on the solution of F(t, y, y') == 0. The unknowns of F are
# the rates of differential components (id = 1) and the values of algebraic
# ones. Their solution is a function of t and the differential components; its
# rate of change is that of the algebraic ones. Newton's method starts from the
# derivative of the integrator's polynomial. A singular matrix, as for higher
# index, is an error.
_rate_of_implicit(F, id, slope) = {
  differs = id > 0
  solved = _solved_implicit(F, id, slope)
  (t, y) -> {
    rates = where(differs, solved(t, y), 0.0)
    where(differs, rates, jvp(q -> solved(q[0], q[1]), (t, y), (1.0, rates))[1])
  }
}
# The rates of differential components and the values of algebraic ones.
_solved_implicit(F, id, slope) = {
  differs = id > 0
  residual = (t, y) -> z -> F(t, where(differs, y, z), where(differs, z, 0.0))
  (t, y) -> {
    r = residual(t, y)
    z = stop_gradient(where(differs, slope, y))
    for k in 0..4 { z = stop_gradient(z - linsolve(_jacobian(r, z), r(z))) }
    _zeros_at(r, z)
  }
}
_slope_at(times, rows, d, j) = if len(times) < 2 { 0.0 * stop_gradient(rows[0]) } else {
  t = stop_gradient(times)
  Y = stop_gradient(rows)
  jvp(s -> _through_nodes(t, Y, d, s), t[j], 1.0)[1]
}
# The times, of which the last ones are at most `short` before the end.
_ended_before(times, short) = {
  end = times[-1] - short
  if stop_gradient(short) < 0 { max(times, end) } else { min(times, end) }
}

# The event functions at (t, y), which changes at the rate v: their derivatives
# with respect to t and y, f64[k, n + 1]; their derivative along the solution;
# and their rounding errors.
_slopes_of_events(g, t, y, v) = {
  (t, y) = (stop_gradient(t), stop_gradient(y))
  by_t = stop_gradient(jvp(s -> g(s, y), t, 1.0)[1])
  by_y = stop_gradient(jacobian(u -> g(t, u))(y))
  speed = by_t + by_y @ v
  (by = concat(expand(by_t, 1), by_y; axis = 1), speed = speed,
    off = 1.5e-14 * (abs(speed) * abs(t) + abs(by_y) @ abs(y)))
}
# The time before an event at `end`, for a piece from t on, at which the event
# functions differ from zero by more than rounding.
_how_long_beside(slopes, met, t, end, t1) = {
  short = max(where(met > 0 and slopes.speed != 0, slopes.off / abs(slopes.speed), 0.0))
  stop_gradient(min(min(short, 1e-3 * _behind(t, t1)), 0.25 * abs(end - t)))
}
# A function (t, y) -> the shift to a point before the zeros to which `onward`
# leads. It is 0 up to the last earlier row at which the solution was beyond
# these zeros.
_keeping_before(g, slopes, onward, way, times, rows) = {
  (T, Y) = (stop_gradient(times), stop_gradient(rows))
  behind = expand(onward, 0) * map((t, y) -> g(t, y), T, Y) > 0 and
    expand(iota(len(T)) < len(T) - 1, 1)
  since = stop_gradient(max(where(behind, expand(way * T, 1), -inf); axis = 0))
  (t, y) -> {
    over = onward * stop_gradient(g(t, y)) + slopes.off
    _aside(slopes, -onward * where(way * stop_gradient(t) > since, max(over, 0.0), 0.0))
  }
}
# The smallest shift in t and y that changes these expressions by d: f64[n + 1].
# A right-hand side that jumps at a zero is evaluated at this distance, on the
# relevant side. With several zeros at one time each has its own side.
_aside(slopes, d) = {
  # shifts t only for functions of t alone, so that times stay monotone
  (by_t, by_y) = (slopes.by[.., 0], slopes.by[.., 1..])
  of_y = sqrt(sum(by_y^2; axis = 1))
  by = concat(expand(where(of_y > 0, 0.0, by_t), 1), by_y; axis = 1)
  size = where(of_y > 0, of_y, where(by_t != 0, abs(by_t), 1.0))
  A = by / expand(size, 1)
  stop_gradient(linsolve(A @ A' + 1e-9 * eye(len(d)), d / size) @ A)
}

# run(), without derivatives: nothing that follows from it moves.
_primal(run) = {
  y = _run_at_rest(run);
  if kind(y) == "array" { stop_gradient(y) } else { map(stop_gradient, y) }
}
_run_at_rest(run) = run()
derivative _run_at_rest(run), drun = if kind(y) == "array" { _holding(y) } else { map(_holding, y) }
_holding(v) = if dtype(v) == "f64" { zeros_like(v) } else { v }

_pass_events(w, g, all, y0, t0, t1, o) = {
  directions = map(e -> e.direction, all)
  stopping = map(e -> if _stops(e) { 1 } else { 0 }, all)
  stops = i64(_numbers(stopping))
  ends = i64(_numbers(map(e -> if e.terminal { 1 } else { 0 }, all)))
  n = len(y0)
  T = zeros(0)
  Y = zeros(0, n)
  starts = i64(zeros(0))
  counts = i64(zeros(9))
  seen = (times = zeros(0), states = zeros(0, n), after = zeros(0, n), which = i64(zeros(0)))
  t = t0
  y = y0
  open = true
  complete = true
  fired = 0 * stops
  swift = 0
  held = 0
  # Pieces also end at switches. If t1 may be one, the last part of the way
  # there is only searched for events, and the first piece begins after t0.
  way = if stop_gradient(t1 - t0) < 0 { -1.0 } else { 1.0 }
  switches = w.switches
  gap = way * _gaps(t0, switches, t1, w.sharp)
  begins = switches + gap[1..-1]
  ends_at = switches - gap[1..-1]
  (begins, ends_at) = if w.sharp {
    (concat(begins, expand(t1, 0)), concat(ends_at, expand(t1 - gap[-1], 0), expand(t1, 0)))
  } else { (begins, concat(ends_at, expand(t1, 0))) }
  t = if w.sharp { t0 + gap[0] } else { t }
  piece = 0
  # whether a piece begins before its switch, to find events at the switch
  early = false
  # the last switch, and times on its two sides
  passed = zeros(3) + t0
  wanted = i64(_numbers(directions))
  near_end = 64 * 2.3e-16 * (abs(t0) + abs(t1))
  while open {
    b = ends_at[piece]
    (times, rows, stats, at, which) =
      w.until(directions, stopping, _signs_behind(w.rate, g, t, y, t1, fired), t, y, b)
    (times, rows, parts) = w.cut(times, rows)
    # the end of its step
    at = w.degree * concat(i64(zeros(1)), cumsum(parts))[at // w.degree]
    last = len(times) - 1
    slope = j -> _slope_at(times, rows, w.degree, j)
    slopes = _slopes_of_events(g, times[-1], rows[-1], slope(last))
    stopped = sum(where(at == last, stops[which], 0)) > 0
    if stats[8] == 1 and (stopped or way * (t1 - b) <= near_end) {
      # an expression that reaches its zero within rounding of this time is
      # simultaneous
      v = stop_gradient(g(times[-1], rows[-1]))
      coming = abs(v) <= slopes.off and way * v * slopes.speed < 0 and
        (wanted == 0 or wanted * v < 0) and
        (fired == 0 or abs(times[-1] - t) > _behind(t, t1))
      for k in findall(coming) {
        if not any(which == k and at == last) { at = push(at, last); which = push(which, k) }
      }
    }
    here = at == last
    stopped = sum(where(here, stops[which], 0)) > 0
    times[0] = t
    if stats[8] == 1 and not stopped { times[-1] = b }
    met = i64(_numbers(map(k -> sum(where(here, i64(which == k), 0)), each(len(all)))) > 0)
    onward = way * sign(slopes.speed) * f64(met)
    rows = w.known(t, y, times, rows,
      way * if stopped {
        _how_long_beside(slopes, met, t, times[-1], t1)
      } else {
        0.0
      }, () -> _keeping_before(g, slopes, onward * f64(stopped), way, times, rows))
    # an event at a switch acts after it, wherever the steps evaluated f
    at_switch = f64(early and stopped and abs(times[-1] - t) <= 2 * abs(passed[2] - passed[1]))
    ahead = w.beside(_aside(slopes, -onward * slopes.off), slope(last), at_switch, passed)
    if at_switch > 0 {
      rows[-1] = _value_of(() -> _flow(ahead, t, y, stop_gradient(times[-1])), rows[-1])
    }
    place = (k, j) -> {
      own = _slopes_of_events(g, times[j], rows[j], slope(j))
      f = if j == last { ahead } else {
        w.beside(_aside(own, where(iota(len(all)) == k, -way * sign(own.speed) * own.off, 0.0)),
          slope(j), 0.0, passed)
      }
      s = _event_time(f, g, k, times[j], rows[j])
      (s, _flow(f, times[j], rows[j], s))
    }
    places = zeros(0)
    states = zeros(0, n)
    for j in 0..len(at) {
      (s, z) = place(which[j], at[j])
      places = push(places, s)
      states = concat(states, expand(z, 0))
    }
    (moved, state) = (times[-1], rows[-1])
    if stopped {
      first = argmax(f64(met * stops > 0))
      (moved, state) = place(first, last)
    }
    ended = sum(where(here, ends[which], 0)) > 0
    # no event acts after the end
    over = stopped and not ended and way * (t1 - moved) <= near_end
    (times[-1], rows[-1]) =
      if over { (t1, _flow(ahead, times[-1], rows[-1], t1)) } else { (moved, state) }
    starts = concat(starts, len(T) + w.degree * iota(last // w.degree))
    counts = counts + stats
    T = concat(T, times)
    Y = concat(Y, rows)
    after = states
    open = stopped and not ended and not over
    complete = stats[8] == 1
    counts_as = here or not here
    aside = zeros(n + 1)
    if stopped {
      again = fired
      fired = met
      again = again * fired > 0
      near = _unresolved(g, times, rows, again, o)
      # An expression that touches zero within the tolerances, at zero speed
      # within them, is at rest: it is neither a new event nor an accumulation.
      rests = near and w.rests(again, moved, state, o)
      # an event found again at the same place, where its expression has changed
      # by rounding only, is the same event
      same = if sum(i64(fired > 0 and not again)) == 0 and abs(moved - t) <= _behind(t, t1) and
        not ended {
        _still_zero(g, w.rate, fired, t, y)
      } else { false }
      held = if same { held + 1 } else { 0 }
      swift = if same { swift } else { if near and not rests { swift + 1 } else { 0 } }
      if (swift >= 3 or held >= 50) and not ended {
        before = concat(expand(t0, 0), seen.times)[-1]
        for (k, e) in enumerate(all) {
          if fired[k] > 0 {
            text =
              ("events follow each other too closely at t = {moved:.9g}: the last one was at "
                "{before:.9g}, and since then the expression of event "
                "{if e.name == "" { "{k}" } else { e.name }} stays within rtol and atol of zero, "
                "at {state}. They accumulate or chatter: make the event terminal, let the state "
                "after it be away from the zero, or stop before; partial = true gives what there "
                "is until then")
            if o.partial == 1 { _warning(text) } else { error(text) }
          }
        }
        open = false
        complete = false
      }
      # each acts where the solution has passed those before it
      pre = stop_gradient(state)
      rate = (t, y) -> if max(abs(stop_gradient(y) - pre)) == 0 {
        slope(last)
      } else {
        stop_gradient(w.rate(t, y))
      }
      acted = 0 * met
      for (k, e) in enumerate(all) {
        if _stops(e) {
          if fired[k] > 0 and not same {
            if sum(acted) > 0 {
              own = _slopes_of_events(g, moved, state, rate(moved, state))
              d = own.off * where(acted > 0, way * sign(own.speed), -onward)
              still = stop_gradient(abs(g(moved, state))) <= own.off
              f = w.beside(_aside(own, where(still, d, 0.0)), rate(moved, state), at_switch, passed)
              s = if still[k] and own.speed[k] != 0 {
                _event_time(f, g, k, moved, state)
              } else {
                place(k, last)[0]
              }
              state = _flow(f, moved, state, s)
              moved = s
            }
            if kind(e.then) != "none" { state = _as_state(e.then(moved, state), n) }
            acted[k] = 1
          }
        }
      }
      # their joint result is the state after each of them
      for j in 0..len(at) { if here[j] { after = _with_row(after, j, state) } }
      if rests or same { counts_as = not here }
      # the next piece begins on the other side of these events, but of no
      # others
      own = _slopes_of_events(g, moved, state, rate(moved, state))
      v = stop_gradient(g(moved, state))
      aside =
        _aside(own, where(fired > 0 and abs(v) <= own.off, way * sign(own.speed) * own.off, 0.0))
      u = stop_gradient(g(moved + aside[0], state + aside[1..]))
      if any(fired == 0 and ((u > 0) != (v > 0) or (u < 0) != (v < 0))) { aside = zeros(n + 1) }
    }
    seen = (times = concat(seen.times, places[counts_as]),
      states = concat(seen.states, states[counts_as]), after = concat(seen.after, after[counts_as]),
      which = concat(seen.which, which[counts_as]))
    if not stopped and complete and piece < len(begins) {
      # an event at the switch itself is found from before it
      (before, behind) = (g(stop_gradient(moved), state), g(stop_gradient(begins[piece]), state))
      early = any((before > 0) != (behind > 0) or (before < 0) != (behind < 0))
      t = if early { moved } else { begins[piece] }
      if piece < len(switches) {
        passed = stack(switches[piece], ends_at[piece], begins[piece])
        state = w.across(state, passed)
      }
      piece = piece + 1
      fired = 0 * stops
      open = t != t1
      if not open { T[-1] = t1 }
    } else {
      t = moved + aside[0]
      # an event just before a switch
      while piece < len(begins) and way * (ends_at[piece] - t) <= 0 {
        if piece < len(switches) {
          passed = stack(switches[piece], ends_at[piece], begins[piece])
          state = w.across(_flow(w.on_side(-1.0, passed), moved, state, passed[0]), passed)
          (t, moved) = (begins[piece], switches[piece])
        }
        piece = piece + 1
      }
      early = false
      open = open and way * (t1 - t) > 0
    }
    y = state + aside[1..]
  }
  T[0] = t0
  (times = T, values = Y, starts = starts, stats = counts, events = _named_events(all, seen),
    complete = complete)
}
# The records of all events, and those of each named event.
_named_events(all, seen) = {
  names = list()
  own = list()
  for (k, e) in enumerate(all) {
    if e.name != "" {
      if has(seen, e.name) or contains(names, e.name) {
        error(
          "an event cannot be called {e.name}: "
          "{if has(seen, e.name) { "events has that already" } else { "another one is" }}")
      }
      names = push(names, e.name)
      own = push(own, (times = seen.times[seen.which == k], states = seen.states[seen.which == k],
        after = seen.after[seen.which == k]))
    }
  }
  if len(names) == 0 { seen } else { (...seen, ...record((...names,), (...own,))) }
}

# The result of `until` for a method without it: the rows up to the first event
# that stops it. Rows are searched for sign changes; a step with an event is
# cut.
_until_searched(m, f, jac, g, directions, stops, signs, y0, t0, t1, o) = {
  d = m.degree
  # a terminal event may precede the place where the method gives up
  wanted = stack(directions)
  stopping = stack(stops)
  (T, Y, counted) = m.integrate(m, f, jac, y0, t0, t1,
    (...o, quiet = 1, halt = (g = g, wanted = wanted, stopping = stopping, signs = signs)))
  nodes = 0.5 - 0.5 * cos(π * iota(d + 1) / d)
  sign = signs
  # 1 or 2: only zeros since the initial time (1) or the last event (2). An
  # expression that stays at zero after its event has no other event there, nor
  # where it leaves zero.
  zeros_since = 0 * signs + 1
  at = i64(zeros(0))
  which = i64(zeros(0))
  ended = false
  # the last two values before row j, and the last row searched for a double
  # sign change
  (before, last, looked) = (g(T[0], Y[0]), g(T[0], Y[0]), T[0])
  j = 1
  while j < len(T) {
    v = g(T[j], Y[j])
    dips = _dips_of_events(before, last, v)
    if any(dips) and (T[j] - looked) * (t1 - t0) > 0 {
      looked = T[j]
      k = argmax(f64(dips))
      s = _place_beyond(g, T, Y, max(j - 2, 0), j, d, k, if last[k] > 0 { 1.0 } else { -1.0 },
        1e-10 * abs(before[k]))
      if s == s {
        # split the step at s, so that a row has the other sign
        i = if (T[j - 1] - s) * (t1 - t0) > 0 { j - 1 } else { j }
        base = (i - 1) // d * d
        (X, P) = (T[base..base + d + 1], Y[base..base + d + 1])
        (head, tail) = (X[0] + nodes * (s - X[0]), s + nodes * (X[-1] - s))
        tail[-1] = X[-1]
        (P1, P2) =
          (map(t -> _through_nodes(X, P, d, t), head), map(t -> _through_nodes(X, P, d, t), tail))
        T = concat(T[..base], head, tail[1..], T[base + d + 1..])
        Y = concat(Y[..base], P1, P2[1..], Y[base + d + 1..])
        j = base + 1
        v = g(T[j], Y[j])
        (before, last) = (g(T[base], Y[base]), g(T[base], Y[base]))
      }
    }
    (before, last) = (last, v)
    if any(not (abs(v) < inf)) {
      error(
        "no solution beyond t = {T[j - 1]}: the expression of event "
        "{argmax(f64(not (abs(v) < inf)))} is not finite at t = {T[j]}; the values are y = "
        "{Y[j - 1]}. An event must have a value wherever the method looks, behind its zero, too")
    }
    now = i64(v > 0) - i64(v < 0)
    # an expression that has moved on after its event and returned has another
    # event
    for k in 0..len(now) {
      if zeros_since[k] == 2 and now[k] == -sign[k] and now[k] != 0 {
        if _place_beyond(g, T, Y, j - 1, j, d, k, f64(now[k]), 1e-10 * abs(v[k])) < inf {
          zeros_since[k] = 0
        }
      }
    }
    sign = where(zeros_since == 2 and now != 0, now, sign)
    zeros_since = where(now == 0, zeros_since, 0)
    changed = (now != sign) and (sign != 0) and zeros_since == 0
    counts = changed and ((wanted == 0) or (wanted == -sign))
    sign = where(counts, sign, where(changed and now == 0, -sign, where(now == 0, sign, now)))
    j = if sum(i64(counts)) == 0 { j + 1 } else {
      base = (j - 1) // d * d
      X = T[base..base + d + 1]
      P = Y[base..base + d + 1]
      roots =
        stack(map(k -> if counts[k] {
          _sign_lost(t -> g(t, _through_nodes(X, P, d, t))[k], sign[k], T[j - 1], T[j])
        } else {
          inf * (t1 - t0)
        },
                  each(len(directions))))
      s = if t1 > t0 { min(roots) } else { max(roots) }
      fired = counts and abs(roots - s) <= 4e-15 * (abs(s) + abs(T[j] - T[j - 1]))
      head = X[0] + nodes * (s - X[0])
      tail = s + nodes * (X[-1] - s)
      head[-1] = s
      tail[-1] = X[-1]
      stopped = sum(where(fired, stopping, 0)) > 0
      P1 = map(t -> _through_nodes(X, P, d, t), head)
      P2 = map(t -> _through_nodes(X, P, d, t), tail)
      if _is_given_steps(m) {
        # equal steps are not shortened by errors: this one crossed the jump at
        # the event
        if stopped { (head, P1) = _step_before(m, f, jac, g, fired, sign, X, P, head, P1, o) }
      }
      whole = abs(X[-1] - s) <= 1e-15 * abs(s) or stopped
      T = if whole {
        if stopped { concat(T[..base], head) } else { T }
      } else {
        concat(T[..base], head, tail[1..], T[base + d + 1..])
      }
      Y = if whole {
        if stopped { concat(Y[..base], P1) } else { Y }
      } else {
        concat(Y[..base], P1, P2[1..], Y[base + d + 1..])
      }
      for k in 0..len(fired) {
        if fired[k] {
          at = push(at, if stopped { len(T) - 1 } else { base + d });
          which = push(which, k)
        }
      }
      sign = where(fired, -sign, sign)
      zeros_since = where(fired, 2, zeros_since)
      # the event is not part of a dip
      (before, last) = (0.0 * v, 0.0 * v)
      ended = stopped
      if stopped { len(T) } else { base + d + 1 }
    }
  }
  if has(counted, "complete") {
    if counted.complete == 0 and not ended {
      if o.partial == 1 { _warning(counted.reason) } else { error(counted.reason) }
    }
  }
  (T, Y, _counts(counted), at, which)
}
# Which elements of g, with values a, b and c at three rows, may change sign
# between them: the middle value is closer to 0 than its changes on both sides.
_dips_of_events(a, b, c) = a * b > 0 and b * c > 0 and abs(b) <= abs(a) and abs(b) <= abs(c) and
  abs(b) < abs(a - b) + abs(c - b)
# A point between rows i and j, in one step or two, where g[k] * side is below
# -least, by golden section search, or NaN.
_place_beyond(g, T, Y, i, j, d, k, side, least) = {
  of = t -> {
    row = if (T[j - 1] - t) * (T[j] - T[j - 1]) > 0 { j - 1 } else { j }
    base = (max(row, 1) - 1) // d * d
    side * g(t, _through_nodes(T[base..base + d + 1], Y[base..base + d + 1], d, t))[k]
  }
  _below(of, T[i], T[j], -least)
}
# The rows of the step from X[0] to these events, which were found at the end of
# head and P1. f is evaluated on the side of the events where the step begins.
_step_before(m, f, jac, g, fired, sign, X, P, head, P1, o) = {
  k = argmax(f64(fired))
  onward = f64(fired) * -sign
  slopes = _slopes_of_events(g, head[-1], P1[-1], f(X[0], P[0]))
  back = F -> (t, y) -> {
    a = _aside(slopes, -onward * max(onward * g(t, y) + slopes.off, 0.0))
    F(t + a[0], y + a[1..])
  }
  # a curved surface needs several shifts
  kept = F -> back(back(back(F)))
  (near, s, best) = (inf, head[-1], inf)
  turn = 0
  while turn < 10 and near > 1e-14 * abs(s) and abs(s - X[0]) > 0 {
    (T, Y, _) = m.integrate(m, kept(f), kept(jac), P[0], X[0], s, (...o, saveat = [], quiet = 1))
    (v, speed) = jvp(q -> g(q[0], q[1])[k], (T[-1], Y[-1]), (1.0, kept(f)(T[-1], Y[-1])))
    if abs(v) < best { (best, head, P1) = (abs(v), T, Y) }
    change = clamp(if speed == 0 { 0.0 } else { v / speed }, -abs(X[-1] - X[0]), abs(X[-1] - X[0]))
    near = abs(change)
    s = if X[-1] > X[0] { max(X[0], s - change) } else { min(X[0], s - change) }
    turn = turn + 1
  }
  (head, P1)
}
# The signs of the expressions after a step that ends at (t, y), and whether the
# step crossed a terminal event. The search then finds it, so further steps are
# unnecessary. Methods call this where o.halt is given. Double sign changes
# within a step are left to the search.
_halted(w, signs, t, y) = {
  v = stop_gradient(w.g(t, y))
  now = i64(v > 0) - i64(v < 0)
  changed = now != signs and signs != 0
  counts = changed and (w.wanted == 0 or w.wanted == -signs) and w.stopping != 0
  (where(changed and now == 0, -signs, where(now == 0, signs, now)),
    sum(i64(counts or not (abs(v) < inf))) > 0)
}
# As _stats, in the opposite direction, and 1: complete.
_counts(s) =
  i64(stack(list(s.steps, s.rhs, s.jacobians, s.factorisations, s.error_test_failures, s.newton,
    s.newton_failures, 0, if has(s, "complete") { i64(s.complete == 1) } else { 1 })))

# Where f loses the sign s between a, where it is or has just left zero, and b.
_sign_lost(f, s, a, b) = {
  lo = a
  tries = 0
  while tries < 60 and not (f(lo) * s > 0) {
    lo = if tries == 0 { 0.5 * (a + b) } else { a + 0.25 * (lo - a) }
    tries = tries + 1
  }
  if tries == 60 { b } else if f(b) != 0 { _root_between(f, lo, b, 0.0, 10) } else {
    # it may be zero for a while before b, too
    hi = b
    for _ in 0..100 {
      middle = 0.5 * (lo + hi)
      keeps = f(middle) * s > 0
      lo = if keeps { middle } else { lo }
      hi = if keeps { hi } else { middle }
    }
    hi
  }
}

# Whether these expressions are zero at (t, y) up to rounding.
_still_zero(g, f, fired, t, y) = {
  (t, y) = (stop_gradient(t), stop_gradient(y))
  (v, dv) = jvp(q -> g(q[0], q[1]), (t, y), (1.0, f(t, y)))
  off = 1.5e-14 * (abs(dv) * abs(t) + abs(jacobian(u -> g(t, u))(y)) @ abs(y))
  sum(i64(fired > 0 and not (abs(v) <= off))) == 0
}
# The time after an event within which its zero is not a new one.
_behind(t, t1) = 1e-9 * (abs(t) + abs(t1 - t))
# The sign of each g just after (t, y): that of its rate of change if g is zero,
# or has just left zero after an event within rounding.
_signs_behind(f, g, t, y, t1, fired) = {
  (v, dv) = jvp(q -> g(q[0], q[1]), (t, y), (1.0, f(t, y)))
  by = where(fired > 0, _behind(t, t1), 0.0)
  w = where(abs(v) <= abs(dv) * by, if t1 < t { -dv } else { dv }, v)
  i64(w > 0) - i64(w < 0)
}

# Whether an event that began this piece and ends it has moved away from zero by
# at most a hundred times the error tolerance.
_unresolved(g, times, rows, again, o) = {
  if sum(i64(again)) == 0 { false } else {
    high = max(abs(map((t, y) -> g(t, y), stop_gradient(times), stop_gradient(rows))); axis = 0)
    y = stop_gradient(rows[-1])
    off = abs(jacobian(u -> g(stop_gradient(times[-1]), u))(y)) @ (o.rtol * abs(y) + o.atol)
    sum(where(again, i64(high <= 100 * off), 0)) > 0
  }
}
# Whether the expressions of these events change no faster than 100 times the
# state's error tolerance would change them.
_rests_on(g, f, again, t, y, o) = {
  (t, y) = (stop_gradient(t), stop_gradient(y))
  speed = u -> jvp(q -> g(q[0], q[1]), (t, u), (1.0, f(t, u)))[1]
  off = abs(jacobian(speed)(y)) @ (o.rtol * abs(y) + o.atol)
  sum(i64(again and not (abs(speed(y)) <= 100 * off))) == 0
}
_as_state(y, n) = {
  y = f64(y)
  if rank(y) != 1 or len(y) != n {
    error("what comes after an event must be a state like the one before, of {n} numbers")
  }
  y
}
_with_row(A, k, row) = { A[k] = row; A }

# All rows, or those at saveat, as far as the solution extends.
_rows_asked(r, solution, saveat) = if len(saveat) == 0 { (r.times, r.values) } else {
  times = f64(saveat)
  way = if r.times[-1] >= r.times[0] { 1.0 } else { -1.0 }
  reached = times[way * (times - r.times[-1]) <= 0]
  (reached, map(solution, reached))
}

# ode with events.
_ode_with_events(f, y, t0, t1, m, o, sparse, events) = {
  r = _with_jacobian(f, t0, y, sparse, m, (jac, pattern) ->
    _integrate_events(m, f, jac, y, t0, t1, _integration(y, pattern, (...o, saveat = [])), events))
  solution = _dense_steps(r.times, r.values, r.starts, m.degree)
  _check_rows(y, r.times, r.values, o)
  (times, Y) = _rows_asked(r, solution, o.saveat)
  (y = _over_times("t", r.times, solution), times = times, values = Y, stats = _stats(r.stats),
    method = m.name, events = r.events, complete = r.complete)
}
