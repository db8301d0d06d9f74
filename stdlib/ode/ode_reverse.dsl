# ode_reverse.dsl - reverse mode of the integrators written in the language, by
# replaying their steps.
#
# A tape of the integration would include rejected steps and all intermediate
# values. Reverse mode uses `_in_reverse` instead. The forward pass integrates
# without derivatives and stores the rows of the solution alone. The accepted
# steps are then replayed with their sizes, each from its row, so the derivative
# is exactly that of the steps. The reverse pass needs the row of each step
# only, n + 1 scalars; if `checkpoint` allows less, fewer of them.
#
# At an equilibrium the steps do not determine derivatives; see ode_rest.dsl.
#
# A method that can be replayed has the field
#   turn  (m, f, jac, o) -> (step, at). step: (t, y, h, inner, how) -> (z, p),
#         one step from (t, y) to z. inner has its `degree` rows as computed
#         before; how is the element of o.how for the step, if that field
#         exists. at: (p, y, z, x), the solution at the fraction x of the step,
#         for values inside the step.

# `integrate` of a method, with derivatives by replaying its steps, or at an
# equilibrium by sensitivity equations. With saveat the last of these times is
# the end.
_go(m, f, jac, y0, t0, t1, o) = if has(m, "until") {
  (times, Y, stats) = m.integrate(m, f, jac, y0, t0, t1, o)
  if not _asks_all(o.saveat) { (times, Y, stats) } else {
    (at, rows, parts) = _primal(() -> _with_rest(f, jac, times, Y, m, o))
    if _are_uncut(parts) { (times, Y, stats) } else {
      at = _between(at, t0, t1)
      (at, _value_of(() -> m.integrate(m, f, jac, y0, t0, t1, (...o, saveat = at))[1], rows), stats)
    }
  }
} else { _from_zero(f, jac, t0, t1, o, (f, jac, t0, t1, o) -> _go_clock(m, f, jac, y0, t0, t1, o)) }
# Times of which the first and the last move.
_between(at, t0, t1) = {
  at[0] = t0
  at[-1] = t1
  at
}
_go_clock(m, f, jac, y0, t0, t1, o) = {
  if has(m, "turn") and not _asks_all(o.saveat) { _check_saveat(o.saveat, t0, t1) }
  (times, Y, stats) =
    if _is_given_steps(m) or o.quiet == 2 { _by_its_steps(m, f, jac, y0, t0, t1, o) } else {
      if has(m, "turn") {
        _in_reverse(_marched_once, _marched_back)(m, f, jac, y0, t0, t1, o)
      } else {
        _marched_once(m, f, jac, y0, t0, t1, o)
      }
    }
  (times, Y) = if _asks_all(o.saveat) { _also_last(f, y0, t0, t1, times, Y) } else { (times, Y) }
  (times, Y, stats)
}
# Without derivatives; these come from a replay.
_marched_once(m, f, jac, y0, t0, t1, o) = {
  (T, R, counts) = _primal(() -> _marched_rows(m, f, jac, y0, t0, t1, o))
  (times, Y) = if not _asks_all(o.saveat) {
    (o.saveat, _value_of(() -> _once_more(m, f, jac, y0, t0, t1, o, T, R)[1], R))
  } else {
    (times, Y) = _value_of(() -> _once_more(m, f, jac, y0, t0, t1, o, T, R), (T, R))
    (at, rows, parts) = _primal(() -> _with_rest(f, jac, T, R, m, o))
    if _are_uncut(parts) { (times, Y) } else {
      at = _between(at, t0, t1)
      (at, _value_of(() -> _by_sensitivities(m, f, jac, y0, t0, t1, (...o, saveat = at), T, R)[1],
        rows))
    }
  }
  (times, Y, _stats(counts))
}
# The reverse mode form of it. For few inputs the gradient uses forward mode.
_marched_back(m, f, jac, y0, t0, t1, o) = _marched_once(m, f, jac, y0, t0, t1, o)
_marched_rows(m, f, jac, y0, t0, t1, o) = {
  (T, Y, s) = m.integrate(m, f, jac, y0, t0, t1, o)
  (T, Y, _counts(s))
}
# Whether the caller chose the steps: equal steps, or those of a user's method.
_is_given_steps(m) = not has(m, "max_step") or (has(m, "finer") and not has(m, "equal"))
# Known times and rows, with derivatives.
_once_more(m, f, jac, y0, t0, t1, o, times, R) = {
  end = if _asks_all(o.saveat) { t1 } else { o.saveat[-1] }
  (T, Y) = if _asks_all(o.saveat) { (times, R) } else {
    _primal(() -> m.integrate(m, f, jac, y0, t0, end, (...o, saveat = []))[..2])
  }
  if _wants_equations(m, f, jac, T, Y, o) {
    _by_sensitivities(m, f, jac, y0, t0, end, o, T, Y)
  } else {
    if has(m, "turn") { _replayed_from(m, f, jac, y0, t0, end, o, T, Y) } else {
      (at, rows) = m.integrate(m, f, jac, y0, t0, t1, o)[..2]
      # with the same number of rows as before
      (at[iota(len(times))], rows[iota(len(times))])
    }
  }
}
# The same if all derivatives are those of the steps.
_by_its_steps(m, f, jac, y0, t0, t1, o) = if has(m, "turn") {
  end = if _asks_all(o.saveat) { t1 } else { o.saveat[-1] }
  _in_reverse(_onward, _replayed)(m, f, jac, y0, t0, end, o)
} else { m.integrate(m, f, jac, y0, t0, t1, o) }

# Rows of the whole solution. If the first and last time are equal, the only row
# is also the last one, and moves with the last time.
_also_last(f, y0, t0, t1, times, Y) =
  if t0 != t1 { (times, Y) } else { (times + (t1 - t0), Y + (t1 - t0) * f(t0, y0)) }
_onward(m, f, jac, y0, t0, t1, o) = m.integrate(m, f, jac, y0, t0, t1, o)

# v, with the derivative of y.
_placed(v, y) = v
derivative _placed(v, y), dv, dy = dy

_replayed(m, f, jac, y, t0, t1, o) = {
  (T, Y, counts) = _primal(() -> _marched_rows(m, f, jac, y, t0, t1, (...o, saveat = [])))
  (times, rows) = _replayed_from(m, f, jac, y, t0, t1, o, T, Y)
  (times, rows, _stats(counts))
}
_replayed_from(m, f, jac, y, t0, t1, o, T, Y) = {
  y0 = _as_long_as(y, f(t0, y))
  Y = Y + zeros(1, len(y0))   # rows of static extent
  if _asks_one(o.saveat) {
    (o.saveat, expand(checkpoint(_replay_to)(m, f, jac, o, y0, t0, t1, T, Y), 0))
  } else {
    (times, rows, end) = _replay_rows(m, f, jac, o, y0, t0, t1, T, Y, o.saveat)
    (times, rows)
  }
}

# Replayed times and rows of an integration with the stored rows T and Y, and
# its end; at saveat if there are such times.
_replay_rows(m, f, jac, o, y0, t0, t1, T, Y, saveat) = {
  d = m.degree
  (t, h, Z) = _replay_all(m, f, jac, o, y0, t0, t1, T, Y)
  n = len(h)
  I = reshape(Y[1..], n, d, len(y0))
  if _asks_all(saveat) {
    x = (reshape(T[1..], n, d) - expand(T[iota(n) * d], 1)) /
      expand(T[d + iota(n) * d] - T[iota(n) * d], 1)
    R = map((t, y, h, inner, x) -> {
      (step, at) = m.turn(m, f, jac, o)
      (z, p) = step(t, y, h, inner, 0)
      stack(...map(i -> at(p, y, z, x[i]), each(d)))
    }, t, Z[..-1], h, I, x)
    (concat(expand(t0, 0), ravel(expand(t, 1) + x * expand(h, 1))),
      concat(Z[..1], reshape(R, n * d, len(y0))), Z[-1])
  } else {
    way = where(t1 < t0, -1.0, 1.0)
    rows = if n == 0 { Z[..1] + expand(saveat - t0, 1) * expand(f(t0, y0), 0) } else {
      map(s -> {
        (step, at) = m.turn(m, f, jac, o)
        k = max(0, min(sum(i64(way * (T[d + iota(n) * d] - stop_gradient(s)) < 0)), n - 1))
        (z, p) = step(t[k], Z[k], h[k], I[k], 0)
        at(p, Z[k], z, (s - t[k]) / h[k])
      }, saveat)
    }
    (saveat, rows, Z[-1])
  }
}

# Replays the steps from the first to the last; returns the end.
_replay_to(m, f, jac, o, y0, t0, t1, T, Y) = {
  (step, at) = m.turn(m, f, jac, o)
  d = m.degree
  n = (len(T) - 1) // d
  how = if has(o, "how") { o.how } else { i64(zeros(n)) }
  y = _placed(Y[0], _as_long_as(y0, f(T[0], y0)))
  for k in 0..n {
    h = _placed(T[d * k + d] - T[d * k], f64(k == n - 1) * (t1 - t0))
    (z, p) = step(_placed(T[d * k], t0), y, h, Y[d * k + 1 + iota(d)], how[k])
    y = _placed(Y[d * k + d], z)
  }
  # if the first and last time are equal, the end moves alone
  y + (if n == 0 { (t1 - t0) * f(t0, y0) } else { 0.0 * y })
}
# The same; also returns the start and size of each step.
_replay_all(m, f, jac, o, y0, t0, t1, T, Y) = {
  (step, at) = m.turn(m, f, jac, o)
  d = m.degree
  n = (len(T) - 1) // d
  last = f64(iota(n) == n - 1)
  h = _placed(T[d + d * iota(n)] - T[d * iota(n)], last * (t1 - t0))
  t = _placed(T[d * iota(n)], t0 + 0.0 * last)
  y = _placed(Y[0], _as_long_as(y0, f(T[0], y0)))
  Z = zeros(n + 1, len(y)) + 0.0 * expand(y, 0)
  Z[0] = y
  for k in 0..n {
    (z, p) = step(t[k], y, h[k], Y[d * k + 1 + iota(d)], 0)
    y = _placed(Y[d * k + d], z)
    Z[k + 1] = y
  }
  (t, h, Z)
}

# ---- replayed steps of the methods

_explicit_turn(one) = {
  step = (t, y, h, inner, how) -> {
    (z, x, e, q) = one.step(t, y, h, one.begin(t, y))
    (z, (t, h, q))
  }
  (step, (p, y, z, x) -> one.at(one.dense(p[0], y, p[1], z, p[2]), x))
}
_tsit5_turn(m, f, jac, o) = _explicit_turn(_tsit5(f, o))
_dop853_turn(m, f, jac, o) = _explicit_turn(_dop853(f, o))
_rk4_turn(m, f, jac, o) = _explicit_turn(_rk4(f))
_euler_turn(m, f, jac, o) = _explicit_turn(_euler(f))
_symplectic_turn(m, f, jac, o) = _explicit_turn(_composition(f, m.order))

_rodas5p_turn(m, f, given, o) = {
  L = _stiff_systems(given, o)
  step = (t, y, h, inner, how) -> {
    (z, e, a, b, c, _) =
      _rodas5p_step(f, L, t, y, h, L.jacobian(t, y), jvp(t -> f(t, y), t, 1.0)[1])
    (z, (a, b, c))
  }
  (step, (p, y, z, x) -> _rodas5p_between(x, y, z, p[0], p[1], p[2]))
}

# The stages are the inner rows, so no iteration is needed.
_radau_turn(m, f, given, o) = {
  R = _radau(m.order)
  step = (t, y, h, inner, how) -> {
    Z = _radau_stages(R, f, t, y, h, inner - expand(stop_gradient(y), 0))
    (y + Z[len(R.c) - 1], Z)
  }
  (step, (p, y, z, x) -> _radau_between(R, x, y, p))
}
