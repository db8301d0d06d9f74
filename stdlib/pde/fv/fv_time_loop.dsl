# fv_time_loop.dsl - time stepping of fv.dsl: speeds, rates, positivity, step
# lengths, explicit and implicit steps.
#
# Needs: a system s, a method m and a grid from fv.dsl, and the fluxes of
# fv_flux.dsl. A state U is a list of arrays over cells, one for each number.
# Guarantees: every step is checked before the next one. A state that is not
# finite or violates positivity ends the time stepping with an error that has
# its place and time.

# Returns along each coordinate: averages padded with outside cells, and speeds
# in each cell and one more at each end. Speeds are the largest absolute value,
# or for hll the smallest and the largest. With one unknown whose speed may have
# extremes between two states, the speeds between neighbours count as well.
_fv_waves(s, m, grid, t, U) = map(k -> {
  n = grid.n[k]
  g = grid.g
  P = _fv_padded(s, grid, k, g, t, U)
  c = if _fv_turns(s, k) {
    faces = _fv_each(s, (...a) -> {
      X = (t, ...map(i -> a[i], each(s.dims)))
      list(..._fv_extremes(s, k, X, a[s.dims], a[s.dims + 1]))
    }, list(...grid.faces[k], _fv_cut(P[0], k, g - 1, g + n), _fv_cut(P[0], k, g, g + n + 1)))
    (low, high) = map((v, sign) -> _fv_each(s, (a, b) -> sign * max(sign * a, sign * b),
      list(concat(_fv_cut(v, k, 0, 1), v; axis = k), concat(v, _fv_cut(v, k, n, n + 1); axis = k))),
      faces, list(-1.0, 1.0))
    if m.flux == "hll" {
      list(low, high)
    } else {
      list(_fv_each(s, (a, b) -> max(-a, b), list(low, high)))
    }
  } else {
    x = map(c -> concat(_fv_cut(c, k, 0, 1), c, _fv_cut(c, k, n - 1, n); axis = k), grid.centres)
    _fv_each(s, (...a) -> {
      (low, high) =
        _fv_speeds(s, k, (t, ...map(i -> a[i], each(s.dims))), map(i -> a[s.dims + i], s.all))
      if m.flux == "hll" { list(low, high) } else { list(max(-low, high)) }
    }, list(...x, ...map(p -> _fv_cut(p, k, g - 1, g + n + 1), P)))
  }
  (P = P, speeds = c)
}, each(s.dims))

# Returns the rate: -(F(i+1/2) - F(i-1/2))/h along each coordinate, minus the
# terms besides fluxes. dt: the length of an Euler step by this rate.
_fv_rate(s, m, grid, t, U, waves, dt) = {
  F = map(k -> _fv_face_fluxes(s, m, grid, k, t, waves[k]), each(s.dims))
  besides = _fv_besides(s, grid, t, U)
  rest = if not _fv_stands(s) { besides } else {
    D = _fv_as_it_stands(s, m, grid, t, U, waves)
    if len(besides) == 0 { map(v -> -v, D) } else { map(i -> besides[i] - D[i], s.all) }
  }
  rate = F -> {
    total = rest
    for k in each(s.dims) {
      n = grid.n[k]
      part = i -> (_fv_cut(F[k][i], k, 0, n) - _fv_cut(F[k][i], k, 1, n + 1)) * (1 / grid.h[k])
      total = map(i -> if len(total) == 0 { part(i) } else { total[i] + part(i) }, s.all)
    }
    total
  }
  first = rate(F)
  if kind(m.positive) == "none" { first } else {
    # A limited flux may be missing in a neighbour, so cells are added until
    # none loses too much.
    total = first
    held = 0.0 * U[0]
    open = true
    while open {
      bad =
        _fv_each(s, (...u) -> if _fv_to_keep(s, m, list(...u)) >= grid.least { 0.0 } else { 1.0 },
          map(i -> U[i] + dt * total[i], s.all))
      open = max(bad * (1 - held)) > 0
      if open {
        held = max(held, bad)
        total =
          rate(map(k -> _fv_held_back(s, m, grid, k, held, U, F[k], 2 * s.dims * dt / grid.h[k]),
            each(s.dims)))
      }
    }
    total
  }
}
# Limits the fluxes through the faces of cells that would lose positivity, and
# of their neighbours. The factor of each face keeps both cells positive if
# every face gets an equal share of the cell. This is always possible and
# conservative; other faces are unchanged.
_fv_held_back(s, m, grid, k, bad, U, F, share) = {
  n = grid.n[k]
  beside = (v, outside) -> if grid.periodic[k] {
    concat(_fv_cut(v, k, n - 1, n), v, _fv_cut(v, k, 0, 1); axis = k)
  } else {
    concat(outside + 0.0 * _fv_cut(v, k, 0, 1), v, outside + 0.0 * _fv_cut(v, k, n - 1, n);
      axis = k)
  }
  sides = v -> list(_fv_cut(v, k, 0, n + 1), _fv_cut(v, k, 1, n + 2))
  b = beside(bad, 0.0)
  near = beside(_fv_each(s, (x, y, z) -> max(x, max(y, z)),
    list(_fv_cut(b, k, 0, n), _fv_cut(b, k, 1, n + 1), _fv_cut(b, k, 2, n + 2))), 0.0)
  # Cells outside of an end are ignored.
  real = beside(1.0 + 0.0 * bad, 0.0)
  states = map(u -> sides(beside(u, 0.0)), U)
  θ = _fv_each(s, (...a) -> {
    at = s.all
    left = map(i -> a[4 + i], at)
    right = map(i -> a[4 + s.m + i], at)
    f = map(i -> a[4 + 2 * s.m + i], at)
    # Stays above the minimum by more than the rounding of sums.
    floor_ = U -> grid.least + 1e-12 * (_fv_to_keep(s, m, U) - grid.least)
    keeps = θ -> {
      x = _fv_to_keep(s, m, map(i -> left[i] - share * θ * f[i], at)) - floor_(left)
      y = _fv_to_keep(s, m, map(i -> right[i] + share * θ * f[i], at)) - floor_(right)
      (x >= 0 or a[2] == 0) and (y >= 0 or a[3] == 0)
    }
    θ = 1.0
    if max(a[0], a[1]) > 0 {
      turns = 0
      while θ > 0 and not keeps(θ) {
        θ = if turns < 10 { 0.5 * θ } else { 0.0 }
        turns = turns + 1
      }
    }
    θ
  }, list(...sides(near), ...sides(real), ...map(v -> v[0], states), ...map(v -> v[1], states),
    ...F))
  map(v -> θ * v, F)
}
# Returns the terms besides fluxes, with the sign of the right side; empty where
# there are none.
_fv_besides(s, grid, t, U) = {
  ks = each(s.dims)
  if s.diffuses { _fv_diffusion(s, grid, t, U) } else {
    if _fv_has(s, "source") or _fv_has(s, "quasi") {
      zero = _fv_zero(s)
      R =
        _fv_each(s,
          (...a) -> _fv_rest(s, (t, ...map(i -> a[i], ks)), map(i -> a[s.dims + i], s.all),
            _fv_none(s), list(zero, zero, zero)),
          list(...grid.centres, ...U))
      map(v -> -v, R)
    } else { list() }
  }
}

# Returns terms with second derivatives, by central differences of averages, and
# sources.
_fv_diffusion(s, grid, t, U) = {
  ks = each(s.dims)
  P = map(k -> _fv_padded(s, grid, k, 1, t, U), ks)
  along = list()
  bent = list()
  for k in ks {
    n = grid.n[k]
    h = grid.h[k]
    along = push(along, map(v -> (_fv_cut(v, k, 2, n + 2) - _fv_cut(v, k, 0, n)) / (2 * h), P[k]))
    bent =
      push(bent,
        map(v -> (_fv_cut(v, k, 2, n + 2) - 2 * _fv_cut(v, k, 1, n + 1) + _fv_cut(v, k, 0, n)) /
          h^2, P[k]))
  }
  if s.dims == 1 { bent = push(push(bent, bent[0]), bent[0]) } else {
    Q = _fv_padded(s, grid, 1, 1, t, along[0])
    bent =
      push(bent,
        map(v -> (_fv_cut(v, 1, 2, grid.n[1] + 2) - _fv_cut(v, 1, 0, grid.n[1])) / (2 * grid.h[1]),
          Q))
  }
  R = _fv_each(s, (...a) -> {
    take = first -> map(i -> a[first + i], s.all)
    d = s.dims
    _fv_rest(s, (t, ...map(i -> a[i], ks)), take(d), map(k -> take(d + s.m * (1 + k)), ks),
      map(k -> take(d + s.m * (1 + d + k)), list(0, 1, 2)))
  }, list(...grid.centres, ...U, ..._fv_flat(along), ..._fv_flat(bent)))
  out = map(v -> -v, R)
  if _fv_has_viscous(s) {
    for k in ks {
      n = grid.n[k]
      h = grid.h[k]
      there = map(v -> 0.5 * (_fv_cut(v, k, 0, n + 1) + _fv_cut(v, k, 1, n + 2)), P[k])
      slopes = map(j -> if j == k {
        map(v -> (_fv_cut(v, k, 1, n + 2) - _fv_cut(v, k, 0, n + 1)) / h, P[k])
      } else {
        Q = _fv_padded(s, grid, k, 1, t, along[j])
        map(v -> 0.5 * (_fv_cut(v, k, 0, n + 1) + _fv_cut(v, k, 1, n + 2)), Q)
      }, ks)
      V = _fv_each(s, (...a) -> {
        take = first -> map(i -> a[first + i], s.all)
        d = s.dims
        _fv_viscous(s, k, (t, ...map(i -> a[i], ks)), take(d),
          map(j -> take(d + s.m * (1 + j)), ks))
      }, list(...grid.faces[k], ...there, ..._fv_flat(slopes)))
      out = map(i -> out[i] - (_fv_cut(V[i], k, 1, n + 1) - _fv_cut(V[i], k, 0, n)) / h, s.all)
    }
  }
  out
}
_fv_flat(rows) = {
  out = list()
  for r in rows { for v in r { out = push(out, v) } }
  out
}

# Returns the required number of steps per unit of time: by stability for waves
# and diffusion, by accuracy for sources (a part of their time scale).
_fv_pace(s, m, grid, t, U, waves) = {
  ks = each(s.dims)
  cfl = if m.cfl > 0 { m.cfl } else { 0.8 }
  total = 0.0
  for k in ks {
    c = waves[k].speeds
    total = total + max(if len(c) == 1 { c[0] } else { _fv_each(s, (a, b) -> max(-a, b), c) }) /
      (cfl * grid.h[k])
  }
  if s.diffuses or s.stirs {
    v = _fv_each(s, (...a) -> {
      X = (t, ...map(i -> a[i], ks))
      V = map(i -> a[s.dims + i], s.all)
      q = if s.stirs {
        (if has(m, "calm") { m.calm } else { 2.0 }) * _fv_stir(s, X, V)
      } else {
        0.0
      }
      if s.diffuses {
        for k in ks {
          # At the stability limit itself alternating errors would persist.
          q = q + 2.2 * _fv_spread(s, k, X, V) / grid.h[k]^2
          if s.drifts { q = q + _fv_drift(s, k, X, V) / grid.h[k] }
        }
      }
      q
    }, list(...grid.centres, ...U))
    total = total + max(v)
  }
  total
}

# Returns speeds for the later stages of a step with WENO: extremes over
# neighbours of the first stage's speeds, which is cheaper than new ones. This
# is valid because no wave moves farther than a cell. Other reconstructions need
# new speeds for positivity, for example where water enters a dry bed fast.
_fv_later(s, m, grid, t, U, waves) = {
  ks = each(s.dims)
  map(k -> {
    c = waves[k].speeds
    (P = _fv_padded(s, grid, k, grid.g, t, U),
      speeds = if len(c) == 1 { list(_fv_wider(s, grid, k, c[0], 1.0)) } else {
        list(_fv_wider(s, grid, k, c[0], -1.0), _fv_wider(s, grid, k, c[1], 1.0))
    })
  }, ks)
}
# Returns extremes over neighbours along all coordinates; along the k-th there
# is a cell more at each end.
_fv_wider(s, grid, k, v, sign) = {
  w = v
  for j in each(s.dims) {
    n = shape(w)[j]
    # In a periodic coordinate with extra cells, the neighbour before the first
    # cell is the third from the end.
    (before, after) =
      if grid.periodic[j] { if j == k { (n - 3, 2) } else { (n - 1, 0) } } else { (0, n - 1) }
    p = concat(_fv_cut(w, j, before, before + 1), w, _fv_cut(w, j, after, after + 1); axis = j)
    (a, b) = (_fv_cut(p, j, 0, n), _fv_cut(p, j, 2, n + 2))
    w = _fv_each(s, (x, y, z) -> if sign > 0 { max(x, max(y, z)) } else { min(x, min(y, z)) },
      list(a, w, b))
  }
  w
}

_fv_step(s, m, grid, t, U, dt, waves) = {
  f = (t, U) -> _fv_rate(s, m, grid, t, U, if m.reconstruct == "weno5" or
    m.reconstruct == "weno5z" {
      _fv_later(s, m, grid, t, U, waves)
    } else {
      _fv_waves(s, m, grid, t, U)
    }, dt)
  a = _fv_rate(s, m, grid, t, U, waves, dt)
  V = map(i -> U[i] + dt * a[i], s.all)
  if m.steps == "euler" { V } else {
    b = f(t + dt, V)
    if m.steps == "ssprk2" { map(i -> 0.5 * U[i] + 0.5 * (V[i] + dt * b[i]), s.all) } else {
      W = map(i -> 0.75 * U[i] + 0.25 * (V[i] + dt * b[i]), s.all)
      c = f(t + 0.5 * dt, W)
      map(i -> 1.0 / 3 * U[i] + 2.0 / 3 * (W[i] + dt * c[i]), s.all)
    }
  }
}

# Advances from (t, U) to t1: by explicit steps, or by implicit ones where
# explicit steps would be far more than waves require. Returns the state, the
# number of steps, the time reached, and a code. 0: at t1. 1: too many steps. 2:
# invalid speeds. 3: a state that is not finite, which is returned. 4: no step
# preserves positivity.
_fv_to(s, m, grid, t0, t1, U) =
  if grid.way == 0 { _fv_by_explicit_steps(s, m, grid, t0, t1, U) } else {
    if grid.way == 1 { _fv_by_implicit_steps(s, m, grid, t0, t1, U) } else {
      if grid.stiff > 0 {
        _fv_by_implicit_steps(s, m, grid, t0, t1, U)
      } else { _fv_by_explicit_steps(s, m, grid, t0, t1, U) }
    }
  }
# Returns the way of stepping, from the initial state: 0 explicit, 1 implicit, 2
# decided at run time by `stiff`.
_fv_way(s, m, grid, span) = if s.stirs or s.diffuses {
  stiff = _now(() -> {
    U = _fv_initial(s, grid)
    pace = _fv_pace(s, m, grid, span[0], U, _fv_waves(s, m, grid, span[0], U))
    steps = pace * (span[1] - span[0])
    waves = _fv_pace((...s, stirs = false, diffuses = false), m, grid, span[0], U,
      _fv_waves(s, m, grid, span[0], U))
    if steps > 20000 and pace > 20 * waves and pace < inf { 1.0 } else { 0.0 }
  })
  (way = if _is_fixed(stiff) { if stiff > 0 { 1 } else { 0 } } else { 2 }, stiff = stiff)
} else { (way = 0, stiff = 0.0) }
# Returns the flattening of states like U, its inverse, and the rate (t, y) ->
# y'.
_fv_as_ode(s, m, grid, U) = {
  n = size(U[0])
  flat = U -> concat(...map(u -> ravel(u), U))
  back = y -> map(i -> reshape(y[i * n..(i + 1) * n], ...shape(U[0])), s.all)
  (flat, back,
    (t, y) -> { V = back(y); flat(_fv_rate(s, m, grid, t, V, _fv_waves(s, m, grid, t, V), 0.0)) })
}
# Integrates the whole rate, including waves, by Radau IIA of order 5 with the
# exact sparse Jacobian, to the tolerances of solve. No time switch may be
# between t0 and t1.
_fv_by_implicit_steps(s, m, grid, t0, t1, U) = {
  (flat, back, f) = _fv_as_ode(s, m, grid, U)
  nothing = t -> zeros(0)
  o = (rtol = grid.rtol, atol = grid.atol, saveat = [t1], way = _way(true),
    switches = (compared = nothing, watched = nothing, tables = nothing, firm = t -> 0.0))
  method = radau5(max_step = 16 / grid.pace)
  (times, Y, stats) = _with_jacobian(f, t0, flat(U), true, method,
    (jac, pattern) -> _integrate(method, f, jac, pattern, flat(U), t0, t1, o))
  y = Y[-1]
  (back(y), t1, stats.steps, if abs(sum(y)) < inf { 0 } else { 3 })
}
# Integrates by explicit steps of the length that stability allows; near the end
# the remainder is divided evenly. A step that violates positivity is repeated
# with a shorter length.
_fv_by_explicit_steps(s, m, grid, t0, t1, U) = {
  t = t0
  steps = 0
  why = 0
  share = 1.0
  (before, W, last, longest) = (t0, U, 0.0, inf)
  while t < t1 and why == 0 {
    waves = _fv_waves(s, m, grid, t, U)
    pace = max(_fv_pace(s, m, grid, t, U, waves), grid.pace)
    left = t1 - t
    fine = where(pace < inf, where(pace >= 0, steps < m.max_steps, false), false)
    # No branch around the step, so that it fuses with the code before it: a
    # step of length zero is ignored.
    whole = where(pace * left <= 1, left, where(pace * left < 2, 0.5 * left, 1 / pace))
    # Inflow or sources in the last step may have made speeds twice what that
    # step could resolve.
    over = if s.driven { last * pace > 2 } else { false }
    all_ = if s.driven {
      where(share * whole < longest, share * whole, longest)
    } else {
      share * whole
    }
    dt = where(fine and not over, all_, 0.0)
    V = _fv_step(s, m, grid, t, U, dt, waves)
    # A sum is not finite wherever one of its terms is not.
    total = 0.0
    for v in V { total = total + sum(v) }
    sound = abs(total) < inf
    why = where(fine, where(sound, 0, 3), where(steps < m.max_steps, 2, 1))
    kept = if kind(m.positive) == "none" { true } else {
      if sound { _fv_least(s, m, V) >= grid.least } else { false }
    }
    there = if s.driven or kind(m.positive) != "none" { dt == left } else { pace * left <= 1 }
    next = where(fine, where(there, t1, t + dt), t)
    if s.driven or kind(m.positive) != "none" {
      good = kept and not over
      (now, back) = (t, before)
      t = where(over, back, where(good, next, now))
      X = U
      U = map((w, u, v) -> where(over, w, where(good, v, u)), W, U, V)
      W = map((w, u) -> where(good, u, w), W, X)
      before = where(good, now, back)
      longest = where(over, 0.5 * last, 2 * longest)
      last = where(good, dt, 0.0)
      share = where(kept, min(1.0, 2 * share), 0.5 * share)
      why = where(over or (why == 3 and not kept), 0, why)
      why = where(share < 1e-6, 4, why)
    } else {
      U = V
      t = next
    }
    steps = steps + i64(fine)
  }
  (U, t, steps, why)
}
# Returns the minimum over all cells of the values that must stay positive.
_fv_least(s, m, U) = min(_fv_each(s, (...u) -> _fv_to_keep(s, m, list(...u)), U))

# Advances from t0 to t1 with a restart after each of the switches. t0 and t1
# may be such times too: the last stage of a step is at its end, and must not
# see the state after it.
_fv_past(s, m, grid, t0, t1, switches, U) =
  if _is_fixed(len(switches)) { _fv_to(s, m, grid, t0, t1, U) } else {
    here = switches[switches > t0 and switches < t1]
    here = here[min(here - t0, t1 - here) > 4 * 2.3e-16 * abs(here)]
    gap = _gaps(t0, here, t1, grid.sharp)
    begins = concat(expand(t0, 0), here) + gap[..-1]
    ends = concat(here, expand(t1, 0)) - gap[1..]
    (flat, back, f) = _fv_as_ode(s, m, grid, U)
    (V, t, steps, why) = (U, t0, 0, 0)
    # A stored state may have ended at a switch, whose time may depend on
    # parameters while the state's does not.
    for a in switches[abs(switches - t0) <= 4 * 2.3e-16 * abs(t0)] {
      y = flat(V)
      some = stop_gradient(gap[0])
      V = back(_value_of(() -> {
        z = _across(f, _flow((t, u) -> f(t - some, u), t0, y, a), a, t0 - some, t0 + some)
        _flow((t, u) -> f(t + some, u), a, z, t0)
      }, y))
    }
    for k in 0..len(ends) {
      if why == 0 {
        if k > 0 { V = back(_across(f, flat(V), here[k - 1], ends[k - 1], begins[k])) }
        (W, reached, more, state) = _fv_to(s, m, grid, begins[k], ends[k], V)
        V = W
        t = reached
        steps = steps + more
        why = state
      }
    }
    (V, t, steps, why)
  }
_fv_march(s, m, grid, times, switches, U) = {
  rows = map(u -> { r = zeros(len(times), ...shape(u)); r[0] = u; r }, U)
  steps = 0
  reached = times[0]
  why = 0
  V = U
  for j in 1..len(times) {
    if why == 0 {
      (W, t, k, state) = _fv_past(s, m, grid, times[j - 1], times[j], switches, V)
      V = W
      reached = t
      why = state
      steps = steps + k
      rows = map(i -> { r = rows[i]; r[j] = W[i]; r }, s.all)
      progress(j, len(times) - 1; time = t)
    }
  }
  (rows, V, reached, steps, why)
}

# Reports why time stepping ended at the time `reached` with state U.
_fv_failed(s, m, grid, U, reached, steps, why) = {
  begin = "fv() cannot go on from t = {reached:.6g}"
  if why == 1 {
    error(
      "fv() took {steps} steps to t = {reached:.6g} and may take no more: fewer cells, weaker "
      "diffusion, slower sources, or max_steps = ... in fv()")
  }
  help = if s.m == 1 {
    "Its equation, or a condition at an end, has no value there that is a number"
  } else {
    ("A density or pressure has become negative, most likely, or there are no waves between two "
      "states: take reconstruct = \"muscl\" or \"first\", or say what must stay above 0 with "
      "positive = ...")
  }
  if why == 2 { error("{begin}: speeds of waves are no real numbers there any more. {help}") }
  if kind(m.positive) != "none" {
    if why == 4 {
      v = ravel(_fv_each(s, (...u) -> _fv_to_keep(s, m, list(...u)), U))
      error(
        "{begin}: at {_fv_place(s, grid, argmin(v))} what is to stay positive falls to 0, however "
        "short the steps are")
    }
  }
  for (k, u) in enumerate(U) {
    bad = ravel(not (abs(u) < inf))
    if any(bad) {
      i = argmax(i64(bad))
      f = 0
      for j in each(len(s.first)) { if s.first[j] <= k { f = j } }
      error("{begin}: {s.info.fields[f]} is {ravel(u)[i]} at {_fv_place(s, grid, i)}. {help}")
    }
  }
}
# Returns the place of a cell, given its row-major index. It uses interpolation,
# since join of strings made at run time has effects, which not every caller may
# have.
_fv_place(s, grid, i) = {
  text = ""
  for (k, c) in enumerate(grid.centres) {
    here = "{s.info.coords[1 + k]} = {ravel(c)[i]:.6g}"
    text = if k == 0 { here } else { "{text}, {here}" }
  }
  text
}
