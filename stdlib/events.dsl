# events.dsl - events of differential equations: what happens where a function of the solution passes through zero.
#
# A method that can, looks for zeros itself (its field `until`); for the others each piece is integrated and then searched. What a zero does to derivatives does
# not depend on how it was found: it moves as the implicit function theorem says, the state there moves with the flow, and the next piece starts at a time and a
# state that move. So that derivatives of every order, by parameters, initial values and times, follow from those of the pieces.

# event(g; direction, terminal, then, name): an event for ode(...; events = ...): g(t, y) passes through 0.
#   direction "any", "rising" or "falling" (also 0, 1, -1): of g along the solution. terminal: the solution ends there.
#   then (t, y) -> y: the state after the event, from which the solution goes on. A right-hand side that jumps where g = 0 wants then = (t, y) -> y, by which the
#   integrator starts again there and does not step across.
#   A zero at the very beginning is no event, nor is one at the beginning of a piece, behind another event.
#     drop = event((t, y) -> y[0]; terminal = true)
#     r = ode((t, y) -> [y[1], -9.81], [10.0, 0], (0.0, 100.0); events = drop, rtol = 1e-10);
#     r.events.times                 #~ [sqrt(20/9.81)] tol 1e-9
event(g; direction = "any", terminal = false, then = none, name = "") =
  (g = g, direction = _direction(direction), terminal = terminal, then = then, name = name)
_direction(d) = if kind(d) == "string" {
  if d == "rising" { 1 } else {
    if d == "falling" { -1 } else { if d == "any" { 0 } else { error("a direction is \"rising\", \"falling\" or \"any\", not \"{d}\"") } }
  }
} else { d }

_event_list(events) = if kind(events) == "record" { list(events) } else { list(...events) }
_stops(e) = e.terminal or kind(e.then) != "none"

# v, with the derivative of run(), whose value it is: what has been computed is not computed again before a derivative is asked for
_value_of(run, v) = v
derivative _value_of(run, v), drun, dv = drun()

# y(t) where the solution goes through (s, y), for t = s: y itself, moving with all three
_flow(f, jac, s, y, t) =
  _value_of(() -> _by_cvode(adams(), f, jac, y, s, t, (rtol = 1e-6, atol = zeros_like(y) + 1, saveat = stack(list(t)), pattern = none))[1][0], y)

# The time s at which g[k] is zero on the solution through (s, y)
_event_time(f, jac, g, k, s, y) = _zero_at(t -> g(t, _flow(f, jac, s, y, t))[k], s)

# y' = f(t, y) with events. Gives times, values, the first row of each step (the dense output goes through degree + 1 rows from there), counts, and
# what happened.
_integrate_events(m, f, jac, y0, t0, t1, o, events) = {
  all = _event_list(events)
  g = (t, y) -> stack(map(e -> f64(e.g(t, y)), all))
  stops = stack(map(e -> if _stops(e) { 1 } else { 0 }, all))
  ends = stack(map(e -> if e.terminal { 1 } else { 0 }, all))
  n = len(y0)
  T = zeros(0)
  Y = zeros(0, n)
  starts = i64(zeros(0))
  counts = i64(zeros(9))
  seen = (times = zeros(0), states = zeros(0, n), after = zeros(0, n), which = i64(zeros(0)))
  t = t0
  y = y0
  open = true
  fired = 0 * stops
  swift = 0
  while open {
    (times, rows, stats, at, which) = m.until(m, f, jac, g, map(e -> e.direction, all), map(e -> if _stops(e) { 1 } else { 0 }, all), _signs_behind(f, g, t, y, t1, fired), y, t, t1, o)
    last = len(times) - 1
    here = at == last
    stopped = sum(where(here, stops[which], 0)) > 0
    complete = stats[8] == 1
    times[0] = t
    if complete and not stopped { times[-1] = t1 }
    rows = _value_of(() -> m.integrate(m, f, jac, y, t, times[-1], (...o, saveat = times))[1], rows)
    moved = times[-1]
    state = rows[-1]
    found = false
    for j in 0..len(at) {
      s = _event_time(f, jac, g, which[j], times[at[j]], rows[at[j]])
      z = _flow(f, jac, times[at[j]], rows[at[j]], s)
      if here[j] and stopped and not found and stops[which[j]] == 1 { moved = s; state = z; found = true }
      seen = (times = push(seen.times, s), states = concat(seen.states, expand(z, 0)), after = concat(seen.after, expand(z, 0)),
        which = push(seen.which, which[j]))
    }
    times[-1] = moved
    rows[-1] = state
    starts = concat(starts, len(T) + m.degree * iota(last // m.degree))
    counts = counts + stats
    T = concat(T, times)
    Y = concat(Y, rows)
    ended = sum(where(here, ends[which], 0)) > 0
    if stopped {
      again = fired
      fired = stack(map(k -> sum(where(here, i64(which == k), 0)), list(...(0..len(all)))))
      again = again * fired > 0
      swift = if _unresolved(g, times, rows, again, o) { swift + 1 } else { 0 }
      if swift >= 3 and not ended {
        error(
          "events follow each other too closely at t = {moved:.9g}: between the last ones, at {seen.times[-3]:.9g} and {seen.times[-2]:.9g}, the expression of event {which[-1]} stays within rtol and atol of zero, at {state}. They accumulate or chatter: make the event terminal, let the state after it be away from the zero, or stop before")
      }
      for (k, e) in enumerate(all) {
        if kind(e.then) != "none" {
          if fired[k] > 0 { state = _as_state(e.then(moved, state), n) }
        }
      }
      # what they made of it together is what comes after each of them
      for j in 0..len(at) { if here[j] { seen = (...seen, after = _with_row(seen.after, len(seen.times) - len(at) + j, state)) } }
    }
    t = moved
    y = state
    open = stopped and not ended and t != t1
  }
  (times = T, values = Y, starts = starts, stats = counts, events = seen)
}
# The sign of each g just behind (t, y): that of its rate of change where g is zero, or an event has just left it so but for rounding.
_signs_behind(f, g, t, y, t1, fired) = {
  (v, dv) = jvp(q -> g(q[0], q[1]), (t, y), (1.0, f(t, y)))
  by = where(fired > 0, 1e-9 * (abs(t) + abs(t1 - t)), 0.0)
  w = where(abs(v) <= abs(dv) * by, if t1 < t { -dv } else { dv }, v)
  i64(w > 0) - i64(w < 0)
}
# Whether an event that began this piece and ends it has not got away from its zero by more than a hundred times what errors may be
_unresolved(g, times, rows, again, o) = {
  if sum(i64(again)) == 0 { false } else {
    high = max(abs(map((t, y) -> g(t, y), stop_gradient(times), stop_gradient(rows))); axis = 0)
    y = stop_gradient(rows[-1])
    off = abs(jacobian(u -> g(stop_gradient(times[-1]), u))(y)) @ (o.rtol * abs(y) + o.atol)
    sum(where(again, i64(high <= 100 * off), 0)) > 0
  }
}
_as_state(y, n) = {
  y = f64(y)
  if rank(y) != 1 or len(y) != n { error("what comes after an event must be a state like the one before, of {n} numbers") }
  y
}
_with_row(A, k, row) = { A[k] = row; A }

# ode with events
_ode_with_events(f, y, t0, t1, m, o, sparse, events) = {
  r = if sparse {
    p = _pattern(f, (t0, y), 1, false)
    jac = (t, u) -> _compressed(v -> f(t, v), u, p)
    _integrate_events(m, f, jac, y, t0, t1, _integration(y, (p.column_start, p.rows), (...o, saveat = [])), events)
  } else {
    _integrate_events(m, f, (t, u) -> _rows_jacobian(v -> f(t, v), u), y, t0, t1, _integration(y, none, (...o, saveat = [])), events)
  }
  solution = _dense_steps(r.times, r.values, r.starts, m.degree)
  (times, Y) = if len(o.saveat) == 0 { (r.times, r.values) } else { (f64(o.saveat), map(solution, f64(o.saveat))) }
  (y = solution, times = times, values = Y, stats = _stats(r.stats), method = m.name, events = r.events)
}
