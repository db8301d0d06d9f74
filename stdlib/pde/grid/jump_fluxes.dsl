# jump_fluxes.dsl - derivatives of expressions that may jump: detection, refusal
# by methods that cannot take them, and flux differences on a grid.
#
# By the product rule ∂x(k*∂x(u)) is k*u_xx + k_x*u_x. Where k jumps, the second
# term is singular, and values at points miss it. For each equation,
# parser/problem/jumps.c lists in `fluxes` the derivatives whose operands are
# not proven smooth enough for the product rule. A method passes differences of
# these fluxes to `by_fluxes`, or refuses the problem.
#
# Method: finite volumes on the grid. The flux is evaluated halfway between
# neighbours, and its derivative at a node is the difference of the fluxes on
# both sides, so the scheme is conservative. Where a coefficient jumps at fixed
# places, the flux through a cell averages 1/k, like resistances in series
# (Patankar 1980). Where it jumps with the state, the flux uses the mean of k
# (Kirchhoff's transformation). A second derivative of e is the difference of
# differences of e.

# Whether an equation differentiates an expression that may jump.
_has_jumps(info) = {
  any = false
  for q in info.equations { any = any or len(q.fluxes) > 0 }
  any
}
# Whether all jumps in them are at places that no unknown decides.
_jumps_at_places(info) = {
  all_ = true
  for q in info.equations { for s in q.fluxes { all_ = all_ and s.fixed } }
  all_
}
# Returns the text of the first such derivative, for messages.
_jump_in(info) = {
  text = ""
  for q in info.equations {
    for s in q.fluxes { if text == "" { text = replace(s.text, "\n", " ") } }
  }
  text
}
# Refuses the problem for a method that applies the product rule, which would
# lose the jumps.
_refuse_jumps(info, name) = if _has_jumps(info) { _refuse(_jumps_refused(info, name)) }
_jumps_refused(info, name) = {
  x = info.coords[0]
  way = if len(info.coords) > 1 or (len(info.space) == 1 and _is_between(info)) {
    if kind(info.region) == "none" {
      "fd() and fem() take differences of the flux"
    } else {
      "fem() takes the flux itself"
    }
  } else { "make the flux an unknown of its own, as u_{x} == q/k with q_{x} for d(k*u_{x}, {x})" }
  ("`{_jump_in(info)}` of {info.name} derives what may jump, and {name}() derives by the rules of "
    "calculus, which lose the jump: {way}")
}
# Refuses the problem for a method that takes differences only below the
# outermost first derivatives (the terms of flux_terms.c), where a jump is
# elsewhere.
_refuse_untold_jumps(info, name) = {
  for q in info.equations {
    for s in q.fluxes {
      told = false
      for term in q.terms {
        same = term.coord == s.coord and s.order == 1 and len(s.inner) == 0 and
          contains(s.text, term.text)
        told = told or same
      }
      if not told { _refuse(_jumps_refused(info, name)) }
    }
  }
}
# Returns which method solve() would choose for such a problem, and why.
_explain_jumps(info) = {
  way = if kind(info.region) != "none" or info.eigen != "" or
    (_pressure_of(info).field >= 0 and not _any_is_periodic(info)) {
    "fem(order = 2), in whose form the flux stays as it is written"
  } else {
    ("fd(order = 2), which takes differences of the flux between neighbouring points; fem() serves "
      "this as well")
  }
  ("{info.name}: `{_jump_in(info)}` derives what may jump, where the product rule does not hold, "
    "so solve() takes {way}.")
}
# Refuses nested derivatives of this kind for a method that takes flux
# differences.
_refuse_deep_jumps(info, name) = {
  for q in info.equations {
    for s in q.fluxes {
      if s.deep {
        _refuse(
          "`{replace(s.text, "\n", " ")}` of {info.name} derives what may jump more than twice; "
          "{name}() takes it as a system, with what is derived as an unknown of its own")
      }
    }
  }
}

# ---- on a grid

# Returns the pairs of neighbours along coordinate p, and their distances.
_steps_of(T, p) = {
  g = T.dims[p]
  n = T.n[p]
  m = if g.periodic { n } else { n - 1 }
  low = iota(m)
  high = (low + 1) % n
  (low = low, high = high,
    h = if g.periodic { zeros(n) + (g.b - g.a) / n } else { g.x[1..] - g.x[..-1] }, n = m)
}
# Applies f to values at the nodes, of any number of components, with coordinate
# p as the middle axis.
_along_lines(T, p, v, f) = {
  tail = if rank(v) == 1 { 1 } else { size(v) // T.P }
  w = f(reshape(v, T.P // (T.n[p] * T.stride[p]), T.n[p], T.stride[p] * tail))
  if rank(v) == 1 { ravel(w) } else { reshape(w, size(w) // tail, ...shape(v)[1..]) }
}
# Returns the values at both ends of each step; _stepped returns the difference
# quotient as both ends.
_at_ends(T, p, e, v) =
  (low = _along_lines(T, p, v, w -> take(w, e.low; axis = 1)),
    high = _along_lines(T, p, v, w -> take(w, e.high; axis = 1)))
_stepped(T, p, e, v) = {
  d = _along_lines(T, p, v,
    w -> (take(w, e.high; axis = 1) - take(w, e.low; axis = 1)) / reshape(e.h, 1, e.n, 1))
  (low = d, high = d)
}
# Interpolates at a fraction θ of each step, f64[steps].
_part_way(v, θ) =
  v.low + (if rank(v.low) == 1 { θ } else if rank(v.low) == 2 { expand(θ, 1) } else {
    expand(expand(θ, 1), 2)
  }) * (v.high - v.low)
# Returns the first derivative along coordinate p of values at the nodes, of any
# number of components.
_slopes_at_nodes(T, p, v) = if rank(v) == 1 { _derived_along(T, p, 1, v) } else {
  flat = reshape(v, T.P, size(v) // T.P)
  columns = map(c -> _derived_along(T, p, 1, flat[.., c]), each(shape(flat)[1]))
  reshape(stack(...columns; axis = 1), ...shape(v))
}
# Returns the operand of an inner derivative of a flux, at all nodes.
_inner_at_nodes(info, S, i, t, jets) =
  map_rows(r -> i.f(_node_coordinates(info, S, t, r.x), r.j) + 0.0 * r.x[0], (x = S.T.X, j = jets))

# Returns places, jets and inner derivatives along each step. A jet of odd order
# in the coordinate is the difference of the jet one order lower.
_along_steps(info, S, s, t, U, V, λ, jets) = {
  T = S.T
  p = _position(S, s.coord)
  e = _steps_of(T, p)
  i = 1 + s.coord
  X = map(q -> {
    ends = _at_ends(T, p, e, T.X[q])
    # The step across a period's end continues from the last node.
    if q == p {
      (low = ends.low,
        high = ends.low +
        _along_lines(T, p, 0.0 * T.X[q], w -> take(w, e.low; axis = 1) + reshape(e.h, 1, e.n, 1)))
    } else { ends }
  }, (...(0..T.count),))
  J = map(j -> if j[i] % 2 == 1 {
    _stepped(T, p, e,
      _jet_on(info, S, U, V, map(k -> if k == i { j[k] - 1 } else { j[k] }, each(len(j))), λ))
  } else { _at_ends(T, p, e, _jet_on(info, S, U, V, j, λ)) }, list(...info.jets))
  I = map(d -> {
    v = _inner_at_nodes(info, S, d, t, jets)
    if d.coord == s.coord { _stepped(T, p, e, v) } else {
      _at_ends(T, p, e, _slopes_at_nodes(T, _position(S, d.coord), v))
    }
  }, list(...s.inner))
  (X = X, J = J, I = I, steps = T.P // T.n[p] * e.n)
}
_of_steps(info, S, t, W, θ, f) = {
  at = v -> _part_way(v, θ)
  map_rows(r -> f(_node_coordinates(info, S, t, r.x), r.j, r.i) + 0.0 * r.x[0],
    (x = map(at, W.X), j = map(at, W.J),
      i = if len(W.I) == 0 { list() } else { map(at, W.I) }))
}
# Returns the derivative of the flux with respect to the first derivative along
# the coordinate (the conductance).
_conductance(info, S, s, t, W, θ) = {
  along = map(j -> if j[1 + s.coord] % 2 == 1 { 1.0 } else { 0.0 }, list(...info.jets))
  turned = map(i -> if i.coord == s.coord { 1.0 } else { 0.0 }, list(...s.inner))
  _of_steps(info, S, t, W, θ, (x, j, i) -> {
    one = map((v, a) -> a + 0.0 * v, j, along)
    if len(s.inner) == 0 { jvp(y -> s.f(x, y, ()), j, one)[1] } else {
      two = map((v, a) -> a + 0.0 * v, i, turned)
      jvp(z -> s.f(x, z[0], z[1]), (j, i), (one, two))[1]
    }
  })
}

# Returns, by bisection, the two sides of the place between a and b where a
# function of θ changes most. Without a jump, any place is correct.
_break_between(f, a, b) = {
  apart = (u, v) -> {
    d = abs(u - v);
    if rank(d) == 1 { d } else { sum(reshape(d, len(d), -1); axis = 1) }
  }
  (low, high) = (a, b)
  (fl, fh) = (f(low), f(high))
  for turn in 0..45 {
    middle = 0.5 * (low + high)
    fm = f(middle)
    left = apart(fm, fl) >= apart(fm, fh)
    (low, high) = (where(left, low, middle), where(left, middle, high))
    wide = if rank(fm) == 1 {
      left
    } else if rank(fm) == 2 {
      expand(left, 1)
    } else {
      expand(expand(left, 1), 2)
    }
    (fl, fh) = (where(wide, fl, fm), where(wide, fm, fh))
  }
  (low, high)
}
# Returns the mean over each step of a function that may jump once in each of a
# few parts, by the trapezoidal rule. places: its jumps as (below, above).
_mean_with_breaks(f, parts, places) = {
  n = len(parts)
  total = none
  for (k, part) in enumerate(parts) {
    (below, above) = places[k]
    (a, b) = (part + 0.0 * below, part + 1.0 / n + 0.0 * below)
    pair = (u, v, d) -> {
      w = f(u) + f(v)
      0.5 * (if rank(w) == 1 { d } else if rank(w) ==
        2 { expand(d, 1) } else { expand(expand(d, 1), 2) }) * w
    }
    own = pair(a, below, below - a) + pair(above, b, b - above)
    total = if kind(total) == "none" { own } else { total + own }
  }
  total
}
# The parts of a step; one jump is located in each.
_step_parts = (0.0, 0.25, 0.5, 0.75)

# Returns the flux of s through each step along its coordinate, [steps, ...].
_flux_between(info, S, s, t, U, V, λ, jets) = {
  W = _along_steps(info, S, s, t, U, V, λ, jets)
  half = zeros(W.steps) + 0.5
  q = θ -> _of_steps(info, S, t, W, θ, s.f)
  if not s.place and not s.state { q(half) } else {
    k = θ -> _conductance(info, S, s, t, W, θ)
    seen = if s.state { q } else { k }
    places = map(a -> _primal(() -> _break_between(seen, half - 0.5 + a, half - 0.25 + a)),
      list(..._step_parts))
    if s.place {
      # Resistances in series, where all conductances have the same sign.
      small = 1e-300
      one = map((a, b) -> (k(a + 0.0 * half), k(b)), list(..._step_parts), map(c -> c[1], places))
      least = k(half)
      most = least
      for c in one { least = min(least, min(c[0], c[1])); most = max(most, max(c[0], c[1])) }
      open = least > small or most < -small
      resistance = θ -> { v = k(θ); where(open, 1 / where(open, v, 1.0), 1.0) }
      _mean_with_breaks(θ -> q(θ) * resistance(θ), _step_parts, places) /
        _mean_with_breaks(resistance, _step_parts, places)
    } else {
      _mean_with_breaks(q, _step_parts, map(c -> _moved_with(info, s, W, c), places))
    }
  }
}
# Moves the place of a jump that depends on the value of the flux's only field,
# differentiably with the values at the ends of the step.
_moved_with(info, s, W, place) = {
  own = -1
  many = 0
  for i in s.jets {
    plain = true
    for o in info.jets[i][1..] { if o > 0 { plain = false } }
    if plain { own = i; many = many + 1 }
  }
  if many != 1 { place } else if info.sizes[info.jets[own][0]] > 0 { place } else {
    v = W.J[own]
    rise = stop_gradient(v.high - v.low)
    shift = θ -> {
      u = _part_way(v, θ)
      θ - where(rise == 0, 0.0, (u - stop_gradient(u)) / where(rise == 0, 1.0, rise))
    }
    (shift(place[0]), shift(place[1]))
  }
}

# Returns the derivatives of the fluxes of an equation at all nodes.
_flux_slopes(info, S, q, t, U, V, λ, jets) = map(s -> {
  T = S.T
  p = _position(S, s.coord)
  e = _steps_of(T, p)
  F = _flux_between(info, S, s, t, U, V, λ, jets)
  tail = size(F) // (T.P // T.n[p] * e.n)
  lines = T.P // (T.n[p] * T.stride[p])
  W = reshape(F, lines, e.n, T.stride[p] * tail)
  D = if T.dims[p].periodic {
    before = (iota(e.n) + e.n - 1) % e.n
    2 * (W - take(W, before; axis = 1)) / reshape(e.h + e.h[before], 1, e.n, 1)
  } else {
    # At a boundary the half cell uses the flux there.
    inner =
      map(i -> _slopes_at_nodes(T, _position(S, i.coord), _inner_at_nodes(info, S, i, t, jets)),
        list(...s.inner))
    at =
      reshape(map_rows(r -> s.f(_node_coordinates(info, S, t, r.x), r.j, r.i) + 0.0 * r.x[0],
        (x = T.X, j = jets, i = inner)),
        lines, T.n[p], T.stride[p] * tail)
    first = 2 * (W[.., ..1] - at[.., ..1]) / e.h[0]
    last = 2 * (at[.., -1..] - W[.., -1..]) / e.h[-1]
    concat(first, 2 * (W[.., 1..] - W[.., ..-1]) / reshape(e.h[1..] + e.h[..-1], 1, e.n - 1, 1),
      last; axis = 1)
  }
  if rank(F) == 1 { ravel(D) } else { reshape(D, T.P, ...shape(F)[1..]) }
}, list(...q.fluxes))

# Returns the jets at a boundary for a condition like k(u)*u_x == g, whose
# factor depends on the state. The derivative is the one that yields the
# boundary flux, extrapolated from the first two steps. Where k jumps within the
# first step, k at the boundary times the derivative of the values would be
# wrong.
_with_wall_slopes(info, S, c, t, x, own, U, V, λ, jets) = {
  T = S.T
  out = own
  for q in info.equations {
    for s in q.fluxes {
      i = _slope_of_flux(info, s)
      if s.state and len(s.inner) == 0 and s.coord == c.q.at.coord and i >= 0 {
        if contains(c.q.nonlinear, i) {
          p = c.p
          e = _steps_of(T, p)
          F = reshape(_flux_between(info, S, s, t, U, V, λ, jets), T.P // (T.n[p] * T.stride[p]),
            e.n, T.stride[p])
          (a, b) = if c.side == 1 { (-1, -2) } else { (0, 1) }
          (near, next) = (ravel(F[.., a]), ravel(F[.., b]))
          wall = near + (near - next) * e.h[a] / (e.h[a] + e.h[b])
          flux = v -> map_rows(r -> s.f(_node_coordinates(info, S, t, r.x), r.j, ()) + 0.0 * r.x[0],
            (x = x, j = map(k -> if k == i { v } else { own[k] }, each(len(own)))))
          (rest, factor) = jvp(flux, 0.0 * own[i], 1.0 + 0.0 * own[i])
          slope = where(factor == 0, own[i], (wall - rest) / where(factor == 0, 1.0, factor))
          out = map(k -> if k == i { slope } else { out[k] }, each(len(own)))
        }
      }
    }
  }
  out
}
# Returns the index of the only jet of a flux that is a first derivative along
# its coordinate, of a scalar field; -1 where there is none.
_slope_of_flux(info, s) = {
  (found, many) = (-1, 0)
  for i in s.jets {
    j = info.jets[i]
    order = 0
    for o in j[1..] { order = order + o }
    if j[1 + s.coord] % 2 == 1 {
      many = many + 1;
      if order == 1 and info.sizes[j[0]] == 0 { found = i }
    }
  }
  if many == 1 { found } else { -1 }
}

# Returns the residual of an equation at all nodes, with flux differences where
# it has fluxes.
_equation_on_grid(info, S, q, t, U, V, λ, jets) =
  if len(q.fluxes) == 0 { _point_residuals(info, S, q, t, S.T.X, jets) } else {
    slopes = _flux_slopes(info, S, q, t, U, V, λ, jets)
    map_rows(r -> _as_row(q.by_fluxes(_node_coordinates(info, S, t, r.x), r.j, r.s), r.x[0]),
      (x = S.T.X, j = jets, s = slopes))
  }

# Returns the Jacobian of equations with fluxes and of conditions, like
# _whole_jacobian (grid_jacobian.dsl): its pattern by dataflow analysis, its
# values by compressed products.
_jacobian_of_fluxes(info, S, matched, conditions) = {
  owner = i64(zeros(S.N)) - 1
  for (a, s) in enumerate(_sources(info, S, matched, conditions)) {
    if not s.first { for r in s.rows { owner[r] = a } }
  }
  F = (t, U, V, λ) -> _whole_residual(info, S, matched, conditions, t, U, V, λ)
  zero = zeros(S.N)
  t0 = if S.time < 0 { 0.0 } else { f64(info.lo[S.time]) }
  p = if S.time < 0 { _pattern((v, t, λ) -> F(t, v, none, λ), (zero, t0, 0.0), 0, false) } else {
    _pattern((v, t, λ, c) -> F(t, v, c * v, λ), (zero, t0, 0.0, 1.0), 0, false)
  }
  values = (t, U, V, cj, λ) -> if kind(V) == "none" {
    _compressed(v -> F(t, U + v, none, λ), zero, p)
  } else {
    _compressed(v -> F(t, U + v, V + cj * v, λ), zero, p)
  }
  (pattern = p, values = values, owner = owner)
}
