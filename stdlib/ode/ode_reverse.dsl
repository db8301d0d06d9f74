# ode_reverse.dsl - reverse mode of the integrators that are written in the
# language: their steps once more, one by one, from where each of them began.
#
# A march finds its steps while it runs, some of them in vain; a tape of all
# that would grow with every number it meets. What reverse mode takes instead
# (`_in_reverse`) marches without derivatives and keeps the rows of the solution
# alone. Then the steps that were taken are gone through again with the lengths
# they had, each from its row, so that the derivative is exactly theirs;
# backwards that needs nothing but the row of each step, n + 1 numbers, and
# where `checkpoint` allows less, fewer of them.
#
# Where a solution rests its steps say nothing of its derivatives; ode_rest.dsl
# says what does.
#
# A method that can be replayed has the field
#   turn  (m, f, jac, o) -> (step, at): step (t, y, h, inner, how) -> (z, p),
#         one step from (t, y) to z, where inner has its degree rows as they
#         were found, and how is what o.how says of the step where there is such
#         a field; at (p, y, z, x): the solution at the fraction x of the step,
#         where more than the end is wanted

# integrate of a method, with derivatives by its steps once more, or where it
# rests by equations. With saveat the last of these times is the end.
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
# Times, of which the first and the last move
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
# Without derivatives, which come from going through it once more
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
# The same, as the form for reverse mode: by few numbers a gradient goes
# forwards
_marched_back(m, f, jac, y0, t0, t1, o) = _marched_once(m, f, jac, y0, t0, t1, o)
_marched_rows(m, f, jac, y0, t0, t1, o) = {
  (T, Y, s) = m.integrate(m, f, jac, y0, t0, t1, o)
  (T, Y, _counts(s))
}
# Whether the steps are the caller's, as of equal ones, and of a method of one's
# own
_is_given_steps(m) = not has(m, "max_step") or (has(m, "finer") and not has(m, "equal"))
# Times and rows, which are there, with derivatives
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
      # of as many rows as there were
      (at[iota(len(times))], rows[iota(len(times))])
    }
  }
}
# ... of which those of the steps are all there are
_by_its_steps(m, f, jac, y0, t0, t1, o) = if has(m, "turn") {
  end = if _asks_all(o.saveat) { t1 } else { o.saveat[-1] }
  _in_reverse(_onward, _replayed)(m, f, jac, y0, t0, end, o)
} else { m.integrate(m, f, jac, y0, t0, t1, o) }

# Rows of the whole solution. Where first and last time are the same the only
# row is the last as well, and moves with that.
_also_last(f, y0, t0, t1, times, Y) =
  if t0 != t1 { (times, Y) } else { (times + (t1 - t0), Y + (t1 - t0) * f(t0, y0)) }
_onward(m, f, jac, y0, t0, t1, o) = m.integrate(m, f, jac, y0, t0, t1, o)

# v, moving as y does
_placed(v, y) = v
derivative _placed(v, y), dv, dy = dy

_replayed(m, f, jac, y, t0, t1, o) = {
  (T, Y, counts) = _primal(() -> _marched_rows(m, f, jac, y, t0, t1, (...o, saveat = [])))
  (times, rows) = _replayed_from(m, f, jac, y, t0, t1, o, T, Y)
  (times, rows, _stats(counts))
}
_replayed_from(m, f, jac, y, t0, t1, o, T, Y) = {
  y0 = _as_long_as(y, f(t0, y))
  Y = Y + zeros(1, len(y0))   # of rows whose length is known
  if _asks_one(o.saveat) {
    (o.saveat, expand(checkpoint(_replay_to)(m, f, jac, o, y0, t0, t1, T, Y), 0))
  } else {
    (times, rows, end) = _replay_rows(m, f, jac, o, y0, t0, t1, T, Y, o.saveat)
    (times, rows)
  }
}

# Times and rows of a march of which T and Y are the rows there were, and its
# end; at saveat where there are such times
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

# The steps, from the first to the last: their end
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
  # where first and last time are the same the end moves alone
  y + (if n == 0 { (t1 - t0) * f(t0, y0) } else { 0.0 * y })
}
# ... and where each began, how long it was
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

# ---- the turns of the methods

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

# The stages are the rows within; no iteration is needed to find them again.
_radau_turn(m, f, given, o) = {
  R = _radau(m.order)
  step = (t, y, h, inner, how) -> {
    Z = _radau_stages(R, f, t, y, h, inner - expand(stop_gradient(y), 0))
    (y + Z[len(R.c) - 1], Z)
  }
  (step, (p, y, z, x) -> _radau_between(R, x, y, p))
}
