# fem_time.dsl - finite elements for problems in t, R(t, U, U') = 0: assembly by
# fem_assembly.dsl, time integration by IDA or an implicit Runge-Kutta method.

_fem_lines(P, D, m, o) = {
  info = P.info
  (t0, t1) = if kind(o.t) == "none" {
    (f64(info.lo[info.time]), f64(info.hi[info.time]))
  } else {
    (f64(o.t[0]), f64(o.t[1]))
  }
  fixed = _fixed_values(P, D, t0)
  fluxes = _fluxes(P, D, t0)
  (number, free) = _free_unknowns(D, fixed)
  S = _pattern_of(P, D, fluxes, number, len(free))
  zero = zeros(D.total)
  on = t -> _with_fixed(P, D, fixed, t, zero)
  whole = (t, y) -> _with_free(on(t), free, y)
  rates = (t, yp) -> _with_free(jvp(on, t, 1.0)[1], free, yp)
  rated = map(f -> _has_rate(info, f), each(P.nf))
  id = concat(...map(f -> concat(...map(c -> full(if rated[f] { 1.0 } else { 0.0 }, D.counts[c]),
    each(P.first[f], P.first[f] + max(1, info.sizes[f])))), each(P.nf)))[free]
  U0 = _start_values(P, D, t0)
  clock = _clock_of(info)
  y0 = U0[free] + _unbent(clock, t0) + clock.firm(t0) +
    _kept_knots(clock.whole, clock.watched, t0, t1, true)
  sizes = list()
  at = 0
  for n in list(...D.counts) { sizes = push(sizes, max(abs(U0[at..at + n]))); at = at + n }
  o = (...o, atol = _atol_by_sizes(o, stack(sizes)))
  # No restarts across pulses at the initial time, where IDA takes short steps:
  # each piece would inline the element forms again.
  switches = _breaks_along(clock, t0, t1, false)
  longest = _longest_seeing(clock.watched, switches, t0, t1) / _shorter(o)
  if len(clock.watched(t0)) > 0 and not has(o, "shorter") {
    shortest = _now(() -> _primal(() -> _shortest_lone(clock.watched, t0 + 0.0, t1 + 0.0)))
    if 12 * shortest < longest { _warn_of_narrow("fem", longest, shortest) }
  }
  F = (t, y, yp) -> _assembled(P, D, S, fluxes, t, 0.0, whole(t, y), rates(t, yp))[0][free]
  jac = (t, y, yp, c) -> {
    (U, V) = (whole(t, y), rates(t, yp))
    (_, A) = _assembled(P, D, S, fluxes, t, 0.0, U, V)
    M = map((p, u, v) -> _cell_mass(P, D, t, p, u, v), D.places, U[D.dofs], V[D.dofs])
    A.values + c * _matrix_on(S, M).values
  }
  place = _place_in(D)
  names = map(f -> info.fields[f], each(P.nf))
  held = false
  for f in each(P.nf) { if _is_multiplier(info, P.eqs, f, P.nf) { held = true } }
  # Undamped waves keep BDF's steps short, as in method_of_lines.dsl.
  waves = P.d == 1 and (info.type == "hyperbolic" or info.type == "dispersive")
  (times, Y, state, stats) = if held or waves {
    # Index 2 for an integrator: constraints with a pressure that enforces them.
    all = concat(...map(f -> concat(...map(c -> full(if rated[f] { 1.0 } else { 0.0 }, D.counts[c]),
      each(P.first[f], P.first[f] + max(1, info.sizes[f])))), each(P.nf)))
    forms = (t, U, V) -> { (R, A) = _assembled(P, D, S, fluxes, t, 0.0, U, V); (R[free], A) }
    mass = (t, U, V) -> _matrix_on(S,
      map((p, u, v) -> _cell_mass(P, D, t, p, u, v), D.places, U[D.dofs], V[D.dofs])).values
    (times, Y, Z, counts) =
      _by_stages(P, forms, mass, on, free, all, _with_free(on(t0), free, y0), t0, t1, switches,
        _is_sharp(clock, t0), longest, o)
    at = t -> _between_steps(times, Y, Z, all, t)
    if _asks_all(o.saveat) {
      (times, Y, at, counts)
    } else {
      (f64(o.saveat), map(at, f64(o.saveat)), at, counts)
    }
  } else {
    run = (y, a, b, saveat) -> {
      r = _host("dae", ((F, (a, y, y)), (jac, (a, y, y, 1.0))),
                (y, zeros_like(y), id, a, b, f64(o.rtol), _atol_for(y0, f64(o.atol)),
                  S.column_start, S.rows, saveat, _as_longest(longest)),
        (1, 5, m.max_steps, 1, "", ""))
      (r[0], r[1], _stats(r[2]))
    }
    (T, Z, counts) = if _is_fixed(len(switches)) { run(y0, t0, t1, f64(o.saveat)) } else {
      (T, Z, counts) =
        _in_pieces(run, (y, s, a, b) -> y, stop_gradient(switches), _is_sharp(clock, t0), 5, y0, t0,
          t1, f64(o.saveat))
      (T, Z + (if _is_sharp(clock, t0) { _unmoved(clock.whole, t0) } else { 0.0 }), counts)
    }
    inner = _dense(T, Z, 5, _asks_all(o.saveat))
    (T, map(k -> whole(T[k], Z[k]), iota(len(T))), (t) -> whole(t, inner(t)), counts)
  }
  functions = map(f -> _fem_moving(P, D, place, state, f), each(P.nf))
  (...record(names, functions), mesh = D.mesh, values = Y, times = times,
    stats = (...stats, unknowns = len(free), cells = len(D.cells)), error = none, method = "fem",
    kind = "pde", smooth = _smooth_inside(P),
    info = (..._info_known(info, info.time, times), fields = names))
}

# Integrates R(t, U, U') == 0 by a stiffly accurate SDIRK method with three
# stages, of order 3 (Alexander 1977), with an error estimate of order 2. Fields
# without a time derivative (rated 0) are unknowns of each stage; fixed values
# follow their conditions. Steps end before each of the switches and begin after
# it. Returns times, values and rates at the ends of steps.
_by_stages(P, forms, mass, on, free, rated, U, t0, t1, switches, sharp, longest, o) = {
  γ = 0.435866521508459
  a = [γ, 0, 0; 0.5 * (1 - γ), γ, 0; -1.5γ^2 + 4γ - 0.25, 1.5γ^2 - 5γ + 1.25, γ]
  c = [γ, 0.5 * (1 + γ), 1]
  lower = (0.5 - γ) / (0.5 * (1 - γ))
  weight = U -> f64(o.atol) + f64(o.rtol) * abs(U)
  of_free = rated[free]
  step = (t, U, h, guess) -> {
    K = zeros(3, len(U))
    good = true
    W = U
    V = guess
    for i in 0..3 {
      s = t + c[i] * h
      base = U + h * (a[i] @ K) - h * γ * K[i]
      fixed = on(s)
      (_, moving) = jvp(on, s, 1.0)
      V[free] = (guess * rated)[free]
      z = moving
      z[free] = V[free]
      V = z
      W = fixed
      W[free] = where(of_free > 0, (base + h * γ * V)[free], W[free])
      W[free] = where(of_free > 0, W[free], (U * (1 - rated))[free])
      turn = 0
      done = false
      while not done and good and turn < 10 {
        (R, A) = forms(s, W, V)
        J = (...A, values = A.values * where(of_free > 0, h * γ, 1.0)[A.columns] + mass(s, W, V))
        d = -linsolve(J, R)
        V[free] += of_free * d
        W[free] += where(of_free > 0, h * γ, 1.0) * d
        size_ = sqrt(mean((where(of_free > 0, h, 0.0) * d / weight(W)[free])^2))
        done = size_ < 1e-2
        good = size_ < 1e8
        turn = turn + 1
      }
      good = good and done
      K[i] = V
    }
    e = rated * (W - U - h * ((1 - lower) * K[0] + lower * K[1]))
    (W, K[2], sqrt(sum((e / weight(W))^2) / max(1.0, sum(rated))), good)
  }
  t = t0
  h = 1e-3 * (t1 - t0)
  V = 0 * U
  times = concat([t0], zeros(0))
  Y = expand(U, 0)
  Z = expand(V, 0)
  (steps, failed) = (0, 0)
  gap = _gaps(t0, switches, t1, sharp)
  ends = concat(switches - gap[1..-1], expand(t1, 0))
  piece = 0
  fresh = true
  while t < t1 and steps + failed < 20000 {
    left = ends[piece] - t
    h = min(min(h, left), longest)
    if left - h < 1e-3 * h { h = left }
    (W, K, e, good) = step(t, U, h, V)
    if good and e <= 1 {
      t = if h == left { ends[piece] } else { t + h }
      U = W
      V = K
      # The first rates, and those after a switch, are those of the first step.
      if fresh { Z[-1] = K }
      fresh = false
      times = concat(times, expand(t, 0))
      Y = concat(Y, expand(U, 0); axis = 0)
      Z = concat(Z, expand(V, 0); axis = 0)
      steps = steps + 1
      h = h * clamp(0.9 * max(e, 1e-8)^(-1.0 / 3), 0.3, 4.0)
      if t == ends[piece] and t < t1 {
        t = switches[piece] + gap[piece + 1]
        times = concat(times, expand(t, 0))
        Y = concat(Y, expand(U, 0); axis = 0)
        Z = concat(Z, expand(V, 0); axis = 0)
        fresh = true
        piece = piece + 1
        h = 1e-3 * (t1 - t0)
      }
    } else {
      failed = failed + 1
      h = h * (if good { clamp(0.9 * e^(-1.0 / 3), 0.1, 0.7) } else { 0.25 })
    }
    if h < 1e-13 * (t1 - t0) {
      error("fem(): no solution of {P.info.name} beyond t = {t}: steps became too short")
    }
  }
  if t < t1 { error("fem(): 20000 steps were not enough for {P.info.name}; t = {t} was reached") }
  (times, Y, Z, (steps = steps, error_test_failures = failed))
}
# Interpolates between two steps: cubic for fields with a time derivative,
# linear for others.
_between_steps(times, Y, Z, rated, t) = {
  k = clamp(searchsorted(times, stop_gradient(t)) - 1, 0, len(times) - 2)
  h = times[k + 1] - times[k]
  s = (t - times[k]) / h
  line = (1 - s) * Y[k] + s * Y[k + 1]
  slope = Y[k + 1] - Y[k]
  line + rated * s * (1 - s) * ((1 - s) * (h * Z[k] - slope) - s * (h * Z[k + 1] - slope))
}
_has_rate(info, f) = {
  found = false
  for j in info.jets { if j[0] == f and j[1 + info.time] > 0 { found = true } }
  found
}
_start_values(P, D, t0) = {
  U = zeros(D.total)
  for c in P.info.conditions {
    if _at_start(P, c) {
      f = _condition_field(P, c, 0)
      c0 = P.first[f]
      m = max(1, P.info.sizes[f])
      X = D.X[D.starts[c0]..D.starts[c0] + D.counts[c0]]
      for i in each(m) {
        U[D.starts[c0 + i]..D.starts[c0 + i] + D.counts[c0]] =
          map(x -> _told_value(P, c, t0, x, i, c0 + i), X)
      }
    }
  }
  U
}
# Returns a field as a function of all coordinates, in their order; t is a
# number, or an array, with numbers or arrays of its shape for the others.
_fem_moving(P, D, place, state, f) = {
  at = xs -> {
    t = f64(xs[P.info.time])
    space = (...map(a -> xs[a], list(...P.info.space)),)
    if rank(t) == 0 { _field_at(P, D, place, state(t), f, space) } else {
      zero = 0.0
      for x in xs { zero = zero + 0.0 * x }
      points = (...map(x -> ravel(zero + x), list(...space)),)
      out = map((t, x) -> _field_at(P, D, place, state(t), f, (...map(k -> x[k], each(P.d)),)),
        ravel(zero + t), stack(...points; axis = 1))
      if P.info.sizes[f] == 0 {
        reshape(out, ...shape(zero))
      } else {
        reshape(out, ...shape(zero), P.info.sizes[f])
      }
    }
  }
  if P.d == 1 {
    (a, b) -> at((a, b))
  } else if P.d == 2 {
    (a, b, c) -> at((a, b, c))
  } else {
    (a, b, c, e) -> at((a, b, c, e))
  }
}
