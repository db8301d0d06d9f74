# fv.dsl - finite volumes for conservation laws in one or two space dimensions,
# with explicit time steps, or implicit ones where diffusion or sources are
# stiff.
#
# Method: parser/problem/flux_terms.c splits each equation into terms, as
# functions. From these this module forms a flux for each coordinate, diffusion,
# and sources: functions of a point and a state. A state is a tuple of numbers,
# one for each scalar field and each component of a vector. Wave speeds follow
# from the derivative of the flux. fv_flux.dsl has numerical fluxes and
# reconstructions, fv_time_loop.dsl the time steps.
#
# Storage: cell averages are one array for each number of the state, so that a
# step is element-wise arithmetic and the explicit time stepping is one loop.

# fv(n; flux, reconstruct, limiter, cfl, steps, max_steps, positive): finite
# volumes in n cells (in 2-D n by n, or n = (nx, ny)), for q_t + ∂x(f(q)) +
# ∂y(g(q)) == s.
#   flux: "rusanov", "hll", "hllc" (compressible flow: density, momenta,
#   energy), "roe" (up to three unknowns), "godunov" (one unknown). With one
#   unknown f may be nonconvex.
#   reconstruct: "first" (order 1), "muscl" (2), "weno5" (Jiang and Shu) and
#   "weno5z" (5 along each coordinate; 2 in 2-D unless f is linear). limiter,
#   for muscl: "minmod", "vanleer", "superbee".
#   cfl: the Courant number, shared among the coordinates; 0 means 0.8 of the
#   first-order stability limit. steps: "euler", "ssprk2", "ssprk3"; "" chooses
#   by the reconstruction.
#   positive: none, or a function of the fields that returns values which must
#   stay above 0 in a cell (a number or a tuple). Where a reconstructed value is
#   not positive, the cell's averages are used instead. Fluxes out of a cell
#   that would fall below 0 are limited. Values negative at the initial time do
#   not fall below their initial minimum.
#   A coordinate is periodic, or has a condition on each field at either end.
#   Fields with values alone are inflow; u_x == 0, or no condition, is outflow;
#   values 0 beside u_x == 0 are a reflecting wall. A condition on the
#   derivative, such as p_x + p == 0 where ∂x(p_x + p) is the flux, holds at the
#   face to rounding.
#   Second derivatives use central differences. Steps are explicit, limited by
#   waves, diffusion and sources. They are implicit (radau5) where the explicit
#   limit is far below that of waves and the steps would number tens of
#   thousands.
#   Errors: a state that is not finite, with its place and time; more than
#   max_steps steps. The solution has x (cell centres) and values f64[times,
#   numbers, cells]. [Source: R. J. LeVeque, Finite Volume Methods for
#   Hyperbolic Problems, 2002; G.-S. Jiang and C.-W. Shu, J. Comput. Phys. 126
#   (1996) 202-228; S. Gottlieb, C.-W. Shu and E. Tadmor, SIAM Rev. 43 (2001)
#   89-112]
#     problem burgers() {
#       domain t in [0, 0.5], x in [0, 1] periodic
#       field u
#       u_t + ∂x(u^2/2) == 0
#       u == sin(2π*x) at t = 0
#     }
#     s = solve(burgers(), fv(n = 100));
#     s.u(0.5, 0.4)                  #~ 0.5965 tol 5e-3
#     sum(s.values[-1, 0])           #~ 0 tol 1e-12
fv(n = 400; flux = "rusanov", reconstruct = "muscl", limiter = "vanleer", cfl = 0.0, steps = "",
  max_steps = 1000000, positive = none) = {
  if not _fv_one_of(flux, ("rusanov", "hll", "hllc", "roe", "godunov")) {
    _refuse(
      "fv() knows the fluxes \"rusanov\", \"hll\", \"hllc\", \"roe\" and \"godunov\", not "
      "\"{flux}\"")
  }
  if not _fv_one_of(reconstruct, ("first", "muscl", "weno5", "weno5z")) {
    _refuse(
      "fv() reconstructs by \"first\", \"muscl\", \"weno5\" or \"weno5z\", not \"{reconstruct}\"")
  }
  if not _fv_one_of(limiter, ("minmod", "vanleer", "superbee")) {
    _refuse("fv() has the limiters \"minmod\", \"vanleer\" and \"superbee\", not \"{limiter}\"")
  }
  if not _fv_one_of(steps, ("", "euler", "ssprk2", "ssprk3")) {
    _refuse("fv() steps by \"euler\", \"ssprk2\" or \"ssprk3\", not \"{steps}\"")
  }
  how = if steps != "" {
    steps
  } else {
    if reconstruct == "first" {
      "euler"
    } else {
      if reconstruct == "muscl" { "ssprk2" } else { "ssprk3" }
    }
  }
  (name = "fv", n = n, flux = flux, reconstruct = reconstruct, limiter = limiter, cfl = cfl,
    steps = how, max_steps = max_steps, positive = positive, solve = _solve_fv, others = _fv_others,
    in_halves = _fv_in_halves)
}

# reconstruct(v; method, limiter): values at the upper faces of periodic cells
# from their averages v f64[n], from below: the reconstruction that fv() uses on
# one side of each face.
#   method: "first", "muscl", "weno5" or "weno5z"; limiter: "minmod", "vanleer"
#   or "superbee". For the values from above, reverse v and the result. [Source:
#   G.-S. Jiang and C.-W. Shu, J. Comput. Phys. 126 (1996) 202-228]
#     reconstruct([0.0, 1, 2, 3, 0, 0]; method = "muscl")   #> [0, 1.5, 2.5, 3, 0, 0]
reconstruct(v; method = "weno5", limiter = "vanleer") = {
  m = fv(; reconstruct = method, limiter = limiter)
  g = if method == "first" { 0 } else { if method == "muscl" { 1 } else { 2 } }
  n = len(v)
  if n < 2 * g + 1 {
    error("reconstruct() with method = \"{method}\" wants at least {2 * g + 1} averages, not {n}")
  }
  P = concat(v[n - g..], f64(v), v[..g])
  map((...w) -> _fv_edges(m, list(...w))[1], ...map(o -> P[o..o + n], each(2 * g + 1)))
}

_fv_one_of(x, names) = {
  found = false
  for n in names { if n == x { found = true } }
  found
}

# conservation(problem): the conservation law that fv() finds in a problem, as a
# string: for each field the flux along each coordinate, diffusion, and the
# source
#     problem traffic() {
#       domain t in [0, 1], x in [0, 1] periodic
#       field ρ
#       ρ_t + ∂x(ρ*(1 - ρ)) == 0
#       ρ == 0.5 at t = 0
#     }
#     conservation(traffic())        #> ρ_t + ∂x(ρ*(1 - ρ)) == 0
conservation(problem) = {
  info = _problem_info(problem)
  why = _fv_why_not(info)
  if why != "" { _refuse(why) }
  _fv_text(info)
}
_fv_text(info) = {
  s = _fv_system(info)
  lines = list()
  for (k, f) in enumerate(info.fields) {
    q = s.info.equations[s.rows[k]]
    text = "{f}_t"
    rest = ""
    found = ""
    for term in q.terms {
      what = _fv_kind(info, term)
      by = if abs(term.factor) == 1 { "" } else { "{abs(term.factor)}*" }
      if what == "flux" {
        component = if term.part < 0 { "" } else { "[{term.part}]" }
        inner = if term.part < 0 {
          term.text
        } else {
          if _fv_is_one(term.text) { "{term.text}{component}" } else { "({term.text}){component}" }
        }
        text = text + (if term.factor > 0 { " + " } else { " - " }) + by +
          "∂{info.coords[term.coord]}({inner})"
      }
      if what == "quasi" {
        text = text + (if term.factor > 0 { " + " } else { " - " }) + by + term.text
        if not _fv_stands(s) { found = found + (if found == "" { "" } else { ", " }) + term.text }
      }
      if what == "source" or what == "diffusion" {
        sign = if term.factor < 0 {
          if rest == "" { "" } else { " + " }
        } else {
          if rest == "" { "-" } else { " - " }
        }
        rest = rest + sign + by + (if _fv_is_one(term.text) { term.text } else { "({term.text})" })
      }
    }
    lines = push(lines, text + " == " + (if rest == "" { "0" } else { rest }) +
      (if found == "" { "" } else { ", with the flux of {found} by integration" }))
  }
  join(lines, "\n")
}

# Whether a string needs no brackets around it as a factor: it has no space
# outside of brackets.
_fv_is_one(text) =
  find(text, " ") < 0 or (find(text, "[") == 0 and find(text, "]") == len(text) - 1)

# Whether a problem is written as a conservation law. It needs a flux under a
# derivative. Every equation must have such a flux or a first derivative that is
# one, no diffusion, and conditions that fv() can impose.
_fv_suits(info) = {
  fine = info.eigen == ""
  if fine { fine = _fv_why_not(info) == "" }
  written = false
  for q in info.equations {
    flux = false
    for term in q.terms {
      what = _fv_kind(info, term)
      if what == "flux" { flux = true; written = true }
      if what == "quasi" { if _fv_is_flux(info, term) { flux = true } else { fine = false } }
      if what == "diffusion" or (what == "flux" and _fv_orders(info, term.jets).first) {
        fine = false
      }
    }
    fine = fine and flux
  }
  if fine and written { _fv_why_not_ends(info) == "" } else { false }
}
# Whether a term is a flux as written, as q_x is ∂x(q): first derivatives with
# constant factors.
_fv_is_flux(info, term) = {
  n = len(info.coords)
  d = _dependence(term.f, (...map(c -> 0.1, info.coords),), _zero_jets(info))
  fine = true
  for i in each(len(info.jets)) {
    if d.depends[n + i] {
      if not _fv_orders(info, list(i)).first or not _has_fixed_slope(info, d, i, each(n)) {
        fine = false
      }
    }
  }
  fine
}
_fv_explain(info) =
  ("{info.name}: a conservation law, so solve() takes fv(): finite volumes, explicit steps, shocks "
    "are kept sharp; reconstruct = \"weno5\" is of order 5 where the solution is smooth.\n") +
  _fv_text(info)

# ---- problems as systems

_fv_time(info) = if len(info.coords) > 1 and info.coords[0] == "t" { 0 } else { -1 }

# Returns which derivatives an expression has: first and second order in space,
# in time, others.
_fv_orders(info, jets) = {
  (first, second, rate, more, value) = (false, false, false, false, false)
  for j in jets {
    o = 0
    for k in each(1, len(info.coords)) { o = o + info.jets[j][1 + k] }
    if info.jets[j][1] > 0 { rate = true; if info.jets[j][1] > 1 or o > 0 { more = true } }
    if o == 0 and info.jets[j][1] == 0 { value = true }
    if o == 1 { first = true }
    if o == 2 { second = true }
    if o > 2 { more = true }
  }
  (first = first, second = second, rate = rate, more = more, value = value)
}
_fv_kind(info, term) = {
  o = _fv_orders(info, term.jets)
  if term.coord > 0 { if o.second { "more" } else { "flux" } } else {
    if term.coord == 0 or o.rate { "rate" } else {
      if o.second { "diffusion" } else { if o.first { "quasi" } else { "source" } }
    }
  }
}

# Returns the reason why a problem is not one for fv(), or "".
_fv_why_not(info) = {
  why = ""
  dims = len(info.coords) - 1
  if _fv_time(info) < 0 {
    why =
      ("fv() solves conservation laws in t and one or two space coordinates, with t the first "
        "coordinate of the domain; for problems without t see fd() and fem()")
  }
  if why == "" and dims > 2 {
    why = "fv() takes one or two space coordinates, and this problem has {dims}"
  }
  if why == "" {
    for i in each(dims) {
      if kind(info.region) != "none" {
        why = "fv() takes intervals and boxes; fem() takes regions of other forms"
      }
    }
  }
  for (k, f) in enumerate(info.fields) {
    found = 0
    for q in info.equations {
      for j in q.jets { if info.jets[j][0] == k and info.jets[j][1] == 1 { found = found + 1 } }
    }
    if why == "" and found != 1 {
      why =
        ("fv() wants one equation with {f}_t for the field {f}, as in {f}_t + ∂x(...) == 0; there "
          "are {found}")
    }
  }
  for q in info.equations {
    if why == "" and _fv_orders(info, q.jets).more {
      why =
        ("fv() serves first derivatives by t, and first and second ones in space; fd(), fourier() "
          "and chebyshev() take others, and this is: {q.text}")
    }
    for term in q.terms {
      if why == "" and _fv_kind(info, term) == "more" {
        why =
          ("fv() takes fluxes of the fields and their first derivatives, and "
            "∂{info.coords[term.coord]}({term.text}) has second ones")
      }
    }
  }
  why
}

# Returns the equation of each field: the one with its time derivative.
_fv_rows(info) = map(k -> {
  row = 0
  for (i, q) in enumerate(info.equations) {
    for j in q.jets { if info.jets[j][0] == k and info.jets[j][1] == 1 { row = i } }
  }
  row
}, each(len(info.fields)))

# Returns the problem with each equation divided by the factor of its time
# derivative, which must be a constant (_fv_refuse_rates).
_fv_by_rates(info) = {
  rows = _fv_rows(info)
  all = map(i -> {
    q = info.equations[i]
    c = 1.0
    for (k, row) in enumerate(rows) { if row == i { c = _fv_rate_factor(info, q, k) } }
    (...q, residual = (...at) -> q.residual(...at) / c,
      terms = map(t -> (...t, factor = t.factor / c), q.terms))
  }, each(len(info.equations)))
  (...info, equations = all)
}
# Returns the factor of a field's time derivative (of a vector, of its first
# component); 1 where it is 0 or not finite.
_fv_rate_factor(info, q, k) = {
  place = _middle_of(info)
  X = (...map(i -> place[i], each(len(info.coords))),)
  rate = 0
  for (i, j) in enumerate(info.jets) { if j[0] == k and j[1] > 0 { rate = i } }
  slope = jvp(js -> q.residual(X, js), _some_jets(info, 0.4), _unit_jet(info, rate, 0))[1]
  c = if info.sizes[k] == 0 { slope } else { slope[0] }
  if abs(c) > 0 and abs(c) < inf { c } else { 1.0 }
}

# Returns a problem as a system: m numbers, the space coordinates, the first
# number of each field, and flags for its kinds of terms. The functions below
# evaluate it at a point X = (t, x, ...) and a state.
_fv_system(info) = {
  info = _fv_by_rates(info)
  first = list()
  m = 0
  for size in info.sizes {
    first = push(first, m)
    m = m + max(1, size)
  }
  dims = len(info.coords) - 1
  (stirs, drifts) = (false, false)
  for q in info.equations {
    for term in q.terms {
      what = _fv_kind(info, term)
      if what == "source" or what == "quasi" or what == "diffusion" { stirs = true }
      if what == "diffusion" and _fv_orders(info, term.jets).first { drifts = true }
    }
  }
  # Inflow may be faster than the state inside.
  driven = stirs
  for c in info.conditions {
    if c.at.coord > 0 { if _fv_orders(info, c.jets).value { driven = true } }
  }
  (info = info, m = m, dims = dims, space = each(1, dims + 1), first = first, rows = _fv_rows(info),
    diffuses = _fv_is_diffusive(info), driven = driven, stirs = stirs, drifts = drifts,
    all = each(m),
    ends = map(k -> map(side -> _fv_end(info, k, side), list(0, 1)), each(1, dims + 1)))
}

_fv_zero(s) = map(i -> 0.0, s.all)
_fv_none(s) = map(k -> map(i -> 0.0, s.all), s.space)

# Returns a field from the numbers of a state.
_fv_field(s, k, U) = if s.info.sizes[k] == 0 { U[s.first[k]] } else {
  stack(...map(i -> U[s.first[k] + i] + 0.0, each(s.info.sizes[k])))
}
# Returns all jets at a point from the state and its first and second
# derivatives with respect to each coordinate (second ones in the order xx, yy,
# xy). `rates`: time derivatives.
_fv_jets(s, U, along, bent, rates) = map(j -> {
  o = 0
  at = 0
  both = true
  for k in s.space {
    o = o + j[1 + k]
    if j[1 + k] > 0 { at = k - 1; if j[1 + k] != 1 { both = false } }
  }
  if j[1] == 1 and o == 0 { _fv_field(s, j[0], rates) } else {
    if j[1] > 0 or o > 2 { 0.0 * _fv_field(s, j[0], U) } else {
      if o == 0 { _fv_field(s, j[0], U) } else {
        if o == 1 {
          _fv_field(s, j[0], along[at])
        } else {
          _fv_field(s, j[0], bent[if both { 2 } else { at }])
        }
      }
    }
  }
}, list(...s.info.jets))

# Returns the values of the equations' functions as numbers of a state; row k is
# for field k.
_fv_numbers(s, values) = {
  out = list()
  for (k, v) in enumerate(values) {
    size = s.info.sizes[k]
    if size == 0 { out = push(out, v) } else {
      w = v + zeros(size)
      for i in each(size) { out = push(out, w[i]) }
    }
  }
  out
}
_fv_part(v, part) = if part < 0 { v } else {
  if kind(v) == "array" { if rank(v) == 2 { v[.., part] } else { v[part] } } else { v[part] }
}
# Returns the sum of all terms of one kind of each field's equation.
_fv_terms(s, what, coord, X, jets) = _fv_numbers(s, map(row -> {
  total = 0.0
  for term in s.info.equations[row].terms {
    if _fv_kind(s.info, term) == what and (coord < 0 or term.coord == coord) {
      total = total + term.factor * _fv_part(term.f(X, jets), term.part)
    }
  }
  total
}, s.rows))
_fv_has(s, what) = {
  found = false
  for q in s.info.equations {
    for term in q.terms { if _fv_kind(s.info, term) == what { found = true } }
  }
  found
}
_fv_has_viscous(s) = {
  found = false
  for q in s.info.equations {
    for term in q.terms {
      if _fv_kind(s.info, term) == "flux" and _fv_orders(s.info, term.jets).first { found = true }
    }
  }
  found
}

# Returns the flux along the k-th coordinate, without its derivative terms. A
# quasi-linear term a(u)u_x has the antiderivative ∫ a du as its flux (from 0,
# by Gauss quadrature).
_fv_flux(s, k, X, U) = {
  zero = _fv_none(s)
  F = _fv_terms(s, "flux", k + 1, X,
    _fv_jets(s, U, zero, list(_fv_zero(s), _fv_zero(s), _fv_zero(s)), _fv_zero(s)))
  if _fv_has(s, "quasi") { Q = _fv_primitive(s, k, X, U); map(i -> F[i] + Q[i], s.all) } else { F }
}
# Returns a(U) V, the quasi-linear terms for a derivative V of U along the k-th
# coordinate.
_fv_quasi(s, k, X, U, V) = {
  along = map(j -> if j == k + 1 { V } else { _fv_zero(s) }, s.space)
  zero = _fv_zero(s)
  with = _fv_terms(s, "quasi", -1, X, _fv_jets(s, U, along, list(zero, zero, zero), zero))
  without = _fv_terms(s, "quasi", -1, X, _fv_jets(s, U, _fv_none(s), list(zero, zero, zero), zero))
  map(i -> with[i] - without[i], s.all)
}
_fv_primitive(s, k, X, U) = {
  nodes = (0.019855071751231884, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
    0.5917173212478249, 0.7627662049581645, 0.8983332387068134, 0.9801449282487681)
  weights = (0.05061426814518813, 0.11119051722668724, 0.15685332293894363, 0.18134189168918100,
    0.18134189168918100, 0.15685332293894363, 0.11119051722668724, 0.05061426814518813)
  total = _fv_zero(s)
  for i in each(8) {
    q = _fv_quasi(s, k, X, map(u -> nodes[i] * u, U), U)
    total = map(j -> total[j] + weights[i] * q[j], s.all)
  }
  total
}
# Whether quasi-linear terms are discretised as written, a(x)u_x and not ∂x(a u)
# - a_x u. This requires that a is proven independent of the state, so that
# there are no shocks, and not proven constant. Where a is unbounded, such as
# 2/r at r = 0, so is the flux.
_fv_stands(s) = if not _fv_has(s, "quasi") { false } else {
  alone = true
  for q in s.info.equations {
    for term in q.terms {
      # A flux with values of fields has shocks of its own.
      if _fv_kind(s.info, term) == "flux" {
        for j in term.jets { if _fv_orders(s.info, list(j)).value { alone = false } }
      }
    }
  }
  if not alone { false } else {
    d = s.dims
    n = s.dims + 1 + s.m
    (still, everywhere) = (true, true)
    for k in each(d) {
      told = _dependence((...a) -> stack(..._fv_quasi(s, k, (...map(i -> a[i], each(d + 1)),),
        map(i -> a[d + 1 + i], s.all), map(i -> 1.0 + 0.3 * i, s.all))),
        ...map(i -> 0.5, each(n))).depends
      for j in each(1, n) { if told[j] { if j > d { still = false } else { everywhere = false } } }
    }
    still and not everywhere
  }
}
# Returns a(x)u_x in each cell: the flux difference between the values at its
# faces for the cell's own a; central differences where diffusion dominates.
_fv_as_it_stands(s, m, grid, t, U, waves) = {
  ks = each(s.dims)
  total = list()
  for k in ks {
    (n, g) = (grid.n[k], grid.g)
    (left, right) = _fv_sides(s, m, grid, k, waves[k].P)
    middle = map(p -> 0.5 * (_fv_cut(p, k, g - 1, g + n) + _fv_cut(p, k, g, g + n + 1)), waves[k].P)
    D = if s.diffuses {
      _fv_each(s,
        (...a) -> _fv_spread(s, k, (t, ...map(i -> a[i], ks)), map(i -> a[s.dims + i], s.all)),
        list(...grid.centres, ...U))
    } else { 0.0 * U[0] }
    own = map(c -> _fv_cut(c, k, 1, n + 1), waves[k].speeds)
    both = v -> list(_fv_cut(v, k, 0, n), _fv_cut(v, k, 1, n + 1))
    V = _fv_each(s, (...a) -> {
      X = (t, ...map(i -> a[i], ks))
      at = s.dims + 1
      c = map(i -> a[at + 6 * s.m + i], each(len(own)))
      speed = if len(c) == 1 { c[0] } else { max(-c[0], c[1]) }
      w = if speed * grid.h[k] > 4 * a[s.dims] {
        1 - 4 * a[s.dims] / (speed * grid.h[k])
      } else {
        0.0
      }
      # At the lower face and the upper one.
      flux = j -> {
        to = part -> map(i -> a[at + (6 * i + 2 * part + j)], s.all)
        (L, R, M) = (to(0), to(1), to(2))
        _fv_between(s, m, k, X, map(i -> M[i] + w * (L[i] - M[i]), s.all),
          map(i -> M[i] + w * (R[i] - M[i]), s.all), list(...c, ...c))
      }
      (low, high) = (flux(0), flux(1))
      map(i -> (high[i] - low[i]) / grid.h[k], s.all)
    }, list(...grid.centres, D,
      ..._fv_flat(map(i -> list(...both(left[i]), ...both(right[i]), ...both(middle[i])), s.all)),
      ...own))
    total = if len(total) == 0 { V } else { map(i -> total[i] + V[i], s.all) }
  }
  total
}
# Returns the part of the flux that depends on derivatives.
_fv_viscous(s, k, X, U, along) = {
  zero = _fv_zero(s)
  with = _fv_terms(s, "flux", k + 1, X, _fv_jets(s, U, along, list(zero, zero, zero), zero))
  without =
    _fv_terms(s, "flux", k + 1, X, _fv_jets(s, U, _fv_none(s), list(zero, zero, zero), zero))
  map(i -> with[i] - without[i], s.all)
}
# Returns all terms besides fluxes, with the sign of the left side.
_fv_rest(s, X, U, along, bent) = {
  jets = _fv_jets(s, U, along, bent, _fv_zero(s))
  a = _fv_terms(s, "source", -1, X, jets)
  b = _fv_terms(s, "diffusion", -1, X, jets)
  quiet = _fv_terms(s, "quasi", -1, X, _fv_jets(s, U, _fv_none(s), bent, _fv_zero(s)))
  out = map(i -> a[i] + b[i] + quiet[i], s.all)
  if _fv_has(s, "quasi") and not _fv_stands(s) {
    # a(x, u)u_x = ∂x(∫ a du) - ∫ a_x du
    for k in s.space {
      slope =
        jvp(x -> _fv_primitive(s, k - 1,
          map(i -> if i == k { x } else { X[i] }, list(0, ...s.space)), U), X[k], 1.0)[1]
      out = map(i -> out[i] - slope[i], s.all)
    }
  }
  out
}
# Returns a bound of the factors of second derivatives, for the step length.
_fv_spread(s, k, X, U) = {
  zero = _fv_zero(s)
  rows = map(j -> {
    e = map(i -> if i == j { 1.0 } else { 0.0 }, s.all)
    bent = map(i -> if i == k { e } else { zero }, list(0, 1, 2))
    a = _fv_terms(s, "diffusion", -1, X, _fv_jets(s, U, _fv_none(s), bent, zero))
    b = _fv_terms(s, "diffusion", -1, X, _fv_jets(s, U, _fv_none(s), list(zero, zero, zero), zero))
    v = _fv_viscous(s, k, X, U, map(i -> if i == k + 1 { e } else { zero }, s.space))
    map(i -> abs(a[i] - b[i]) + abs(v[i]), s.all)
  }, s.all)
  _fv_largest_row(s, rows)
}
# Returns the same bound for first derivatives in one term with second ones, as
# in ∂r(r*u_r)/r.
_fv_drift(s, k, X, U) = {
  zero = _fv_zero(s)
  bent = list(zero, zero, zero)
  rows = map(j -> {
    e = map(i -> if i == j { 1.0 } else { 0.0 }, s.all)
    along = map(i -> if i == k + 1 { e } else { zero }, s.space)
    a = _fv_terms(s, "diffusion", -1, X, _fv_jets(s, U, along, bent, zero))
    b = _fv_terms(s, "diffusion", -1, X, _fv_jets(s, U, _fv_none(s), bent, zero))
    map(i -> abs(a[i] - b[i]), s.all)
  }, s.all)
  _fv_largest_row(s, rows)
}
_fv_largest_row(s, rows) = {
  most = 0.0
  for i in s.all {
    total = 0.0
    for j in s.all { total = total + rows[j][i] }
    most = max(most, total)
  }
  most
}
# Returns an upper bound of the rate at which terms besides fluxes change a
# state: of the largest eigenvalue of their Jacobian, by a norm of its fourth
# power, which depends little on the units of the fields.
_fv_stir(s, X, U) = {
  zero = _fv_zero(s)
  f = W -> _fv_rest(s, X, W, _fv_none(s), list(zero, zero, zero))
  A = map(j -> jvp(f, U, map(i -> if i == j { 1.0 } else { 0.0 }, s.all))[1], s.all)
  if s.m == 1 { abs(A[0][0]) } else {
    square = A -> map(c -> _fv_times(A, c), A)
    # Scaled to values near 1, so that no power overflows.
    size = 1e-300 + _fv_largest_row(s, map(c -> map(v -> abs(v), c), A))
    B = square(square(map(c -> map(v -> v / size, c), A)))
    most = _fv_largest_row(s, map(c -> map(v -> abs(v), c), B))
    # The root has no derivative at 0.
    if most > 0 { size * sqrt(sqrt(most)) } else { 0.0 * size }
  }
}

# ---- grids

# Applies f at every cell or face: arguments are arrays with one or two axes,
# and f gets one number of each.
_fv_each(s, f, args) =
  if s.dims == 1 { map(f, ...args) } else { map((...rows) -> map(f, ...rows), ...args) }
_fv_cut(v, axis, a, b) =
  if rank(v) == 1 { v[a..b] } else { if _known(axis, "axis") == 0 { v[a..b] } else { v[.., a..b] } }

_fv_centres(a, b, n) = a + (b - a) * (iota(n) + 0.5) / f64(n)
_fv_faces(a, b, n) = a + (b - a) * iota(n + 1) / f64(n)

_fv_grid(s, m) = {
  info = s.info
  lo = map(k -> info.lo[k], s.space)
  hi = map(k -> info.hi[k], s.space)
  n = if kind(m.n) == "tuple" or kind(m.n) == "list" {
    list(...m.n)
  } else {
    map(k -> m.n, s.space)
  }
  if len(n) != s.dims {
    _refuse("fv() was given {len(n)} numbers of cells for {s.dims} space coordinate(s)")
  }
  g = if m.reconstruct == "first" { 1 } else { if m.reconstruct == "muscl" { 2 } else { 3 } }
  for k in n {
    if k < 2 * g {
      error(
        "fv() with reconstruct = \"{m.reconstruct}\" wants at least {2 * g} cells along each "
        "coordinate, not {k}")
    }
  }
  axes = map(k -> _fv_centres(lo[k], hi[k], n[k]), each(s.dims))
  (lo = lo, hi = hi, n = n, g = g, h = map(k -> (hi[k] - lo[k]) / n[k], each(s.dims)), axes = axes,
    periodic = map(k -> info.periodic[k], s.space),
    centres = _fv_mesh(axes),
    faces = map(k -> _fv_mesh(map(j -> if j == k { _fv_faces(lo[j], hi[j], n[j]) } else { axes[j] },
      each(s.dims))),
      each(s.dims)))
}
# Returns arrays of each coordinate at all points.
_fv_mesh(axes) = if len(axes) == 1 { list(axes[0]) } else {
  list(expand(axes[0], 1) + 0.0 * expand(axes[1], 0), 0.0 * expand(axes[0], 1) + expand(axes[1], 0))
}

# Returns cell averages of the initial values, by Gauss quadrature with four
# points along each coordinate.
_fv_initial(s, grid) = {
  nodes = (-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526)
  weights = (0.17392742256872693, 0.32607257743127307, 0.32607257743127307, 0.17392742256872693)
  points = if s.dims == 1 { map(i -> (i,), list(0, 1, 2, 3)) } else {
    out = list()
    for i in list(0, 1, 2, 3) { for j in list(0, 1, 2, 3) { out = push(out, (i, j)) } }
    out
  }
  total = map(i -> 0.0 * grid.centres[0], s.all)
  for p in points {
    w = 1.0
    for i in p { w = w * weights[i] }
    at = map(k -> grid.centres[k] + 0.5 * grid.h[k] * nodes[p[k]], each(s.dims))
    v = _fv_each(s, (...x) -> _fv_start(s, (s.info.lo[0], ...x)), at)
    total = map(i -> total[i] + w * v[i], s.all)
  }
  total
}
_fv_start(s, X) = {
  zero = _fv_zero(s)
  none_ = _fv_none(s)
  bent = list(zero, zero, zero)
  values = map(k -> {
    v = 0.0
    for c in s.info.conditions {
      if c.at.coord == 0 and s.info.jets[c.jets[0]][0] == k {
        a = c.residual(X, _fv_jets(s, zero, none_, bent, zero))
        one = map(i -> if i >= s.first[k] and i < s.first[k] +
          max(1, s.info.sizes[k]) { 1.0 } else { 0.0 }, s.all)
        b = c.residual(X, _fv_jets(s, one, none_, bent, zero))
        v = -a / (b - a)
      }
    }
    v
  }, each(len(s.info.fields)))
  # Makes all values floating-point numbers.
  map(v -> v + 0.0, _fv_numbers(s, values))
}

# ---- solving

_solve_fv(info, m, o) = {
  why = _fv_why_not(info)
  if why != "" { _refuse(why) }
  info = _with_plain_starts(info)
  _refuse_untold_jumps(info, m.name)
  _fv_refuse_rates(info)
  s = _fv_system(info)
  if _fv_has(s, "quasi") { _fv_refuse_quasi(s) }
  untold = _fv_why_not_ends(info)
  if untold != "" { _refuse(untold) }
  plain = _fv_grid(s, m)
  span = if kind(o.t) == "none" { (info.lo[0], info.hi[0]) } else { (f64(o.t[0]), f64(o.t[1])) }
  U = _fv_initial(s, plain)
  # Values negative at the initial time, such as depths of dry land minus a
  # threshold, stay above their initial minimum.
  clock = _clock_of(info)
  firm = clock.firm(span[0])
  U = map(u -> u + firm, U)
  pace = _fv_pace_factor(m)
  switches = _restarts_along(clock, span[0], span[1], i64(ceil(16 * pace)))
  grid = (...plain, ..._fv_way(s, m, plain, span), rtol = o.rtol, atol = o.atol,
    sharp = _is_sharp(clock, span[0] + 0.0),
    # These steps have no error control. The factor keeps rounding from adding a
    # step to the number requested.
    pace = max(_fv_steps_for_features(clock, switches, span[0], span[1], pace),
      if has(m, "at_least") { (1 - 1e-9) * m.at_least } else { 0.0 }) / (span[1] - span[0]),
    least = if kind(m.positive) == "none" { 0.0 } else { min(0.0, _fv_least(s, m, U)) })
  _fv_check(s, m, grid, U)
  times = if len(o.saveat) > 0 {
    f64(o.saveat)
  } else {
    linspace(span[0], span[1], if s.dims == 1 { 51 } else { 11 })
  }
  first = if len(o.saveat) > 0 and times[0] > span[0] {
    concat([f64(span[0])], times)
  } else {
    times
  }
  (rows, last, reached, steps, state) = _fv_march(s, m, grid, first, switches, U)
  if state > 0 { _fv_failed(s, m, grid, last, reached, steps, state) }
  if s.m > 2 { _fv_check_real(s, grid, first, rows) }
  # No warning for solutions that only serve comparisons.
  if s.m == 1 and s.stirs {
    if not o.partial and _fv_thinnest(s, grid, first, rows) > 1 {
      _warning(
        "fv(): a front that the source of {info.name} makes is thinner than a cell, so its speed "
        "may be wrong: more cells make it right")
    }
  }
  values = stack(...rows; axis = 1)
  kept = if len(first) == len(times) { values } else { values[1..] }
  (...record(info.fields,
    map(k -> _fv_function(s, m, grid, first, switches, rows, k), each(len(info.fields)))),
    x = if s.dims == 1 {
      grid.axes[0]
    } else {
      grid.axes
    }, times = times, values = kept, stats = (steps = steps,), method = "fv", kind = "pde",
    error = none,
    info = (..._info_known(info, 0, span), sizes = info.sizes, periodic = info.periodic))
}

# Returns the factor by which steps are shorter than usual.
_fv_pace_factor(m) = if has(m, "pace") { m.pace } else { 1.0 }
# Returns the least number of steps from a to b for which short features in time
# are resolved. switches: the restarts between them.
_fv_steps_for_features(clock, switches, a, b, pace) =
  16 * pace * (b - a) / _longest_seeing(clock.watched, switches, f64(a), f64(b))

# Returns the thinness of fronts: the growth rate of the source within a front,
# relative to the rate at which waves and diffusion cross a cell, as the maximum
# over the stored times. Above 1 the front is as thin as the grid allows, and
# numerical diffusion decides its speed (R. J. LeVeque and H. C. Yee, J. Comput.
# Phys. 86 (1990) 187-210).
_fv_thinnest(s, grid, times, rows) = {
  U = rows[0]
  range_ = max(U) - min(U)
  most = 0.0
  for j in 0..len(times) {
    for k in each(s.dims) {
      n = grid.n[k]
      half = v -> 0.5 * (_fv_cut(v, k, 0, n - 1) + _fv_cut(v, k, 1, n))
      u = rows[0][j]
      jump = _fv_cut(u, k, 1, n) - _fv_cut(u, k, 0, n - 1)
      thin = _fv_each(s, (...a) -> {
        X = (times[j], ...map(i -> a[i], each(s.dims)))
        (v, d) = (list(a[s.dims]), a[s.dims + 1])
        zero = _fv_zero(s)
        growth = -jvp(W -> _fv_rest(s, X, W, _fv_none(s), list(zero, zero, zero)), v,
          list(1.0))[1][0]
        (low, high) = _fv_speeds(s, k, X, v)
        h = grid.h[k]
        away = max(abs(low), abs(high)) / h +
          (if s.diffuses { 2 * _fv_spread(s, k, X, v) / h^2 } else { 0.0 })
        if abs(d) > 0.2 * range_ { growth / (away + 1e-300) } else { 0.0 }
      }, list(...map(half, grid.centres), half(u), jump))
      most = max(most, max(thin))
    }
  }
  most
}

# Checks the initial state: finite values, factors of the time derivatives, and
# the requirements of the flux.
_fv_check(s, m, grid, U) = {
  zero = _fv_zero(s)
  bent = list(zero, zero, zero)
  # Cells spread over the grid.
  total = len(ravel(U[0]))
  some = i64(linspace(0, total - 1, min(total, 64)))
  X = map(c -> ravel(c)[some], grid.centres)
  V = map(u -> ravel(u)[some], U)
  d = s.dims
  state = a -> map(i -> a[d + i], s.all)
  point = a -> (s.info.lo[0], ...map(i -> a[i], each(d)))
  if not all(abs(stack(...V)) < inf) { error("fv(): an initial value is no finite number") }
  for k in each(len(s.info.fields)) {
    q = s.info.equations[s.rows[k]]
    for j in s.all {
      e = map(i -> if i == j { 1.0 } else { 0.0 }, s.all)
      c = map((...a) -> q.residual(point(a), _fv_jets(s, state(a), _fv_none(s), bent, e)) -
        q.residual(point(a), _fv_jets(s, state(a), _fv_none(s), bent, zero)), ...X, ...V)
      want = if s.info.sizes[k] == 0 {
        if j == s.first[k] { 1.0 } else { 0.0 }
      } else {
        f64(iota(s.info.sizes[k]) == j - s.first[k])
      }
      if not (max(abs(c - want)) < 1e-9) {
        error(_fv_own_rate(s.info, k, q))
      }
    }
  }
  for k in each(d) { _fv_check_flux(s, m, k, X, V) }
}

# Fails where the system is not hyperbolic. With two unknowns the speeds show
# this in each step (_fv_speeds). With more, this function checks 64 cells at
# the stored times.
_fv_check_real(s, grid, times, rows) = {
  total = len(ravel(rows[0][0]))
  some = i64(linspace(0, total - 1, min(total, 64)))
  X = map(c -> ravel(c)[some], grid.centres)
  for j in 0..len(times) {
    V = map(u -> ravel(u[j])[some], rows)
    for k in each(s.dims) {
      if _fv_imaginary(s, k, times[j], X, V) > 0 {
        error(
          "fv(): speeds of waves of {s.info.name} along {s.info.coords[k + 1]} are not real at t = "
          "{times[j]:.6g}, so that the system is not hyperbolic there and has no solution that "
          "lasts")
      }
    }
  }
}
# Refuses equations in which the time derivative of a field is not proven to be
# alone, with a constant factor. _fv_by_rates divides by that factor. For
# vectors _fv_check checks that the factor is the same for all components.
_fv_refuse_rates(info) = {
  n = len(info.coords)
  for (k, row) in enumerate(_fv_rows(info)) {
    q = info.equations[row]
    d = _residual_dependence(info, q)
    alone = true
    for (i, j) in enumerate(info.jets) {
      if j[1] > 0 and d.depends[n + i] {
        alone = alone and j[0] == k and _has_fixed_slope(info, d, i, each(n))
      }
    }
    if not alone { _refuse(_fv_own_rate(info, k, q)) }
  }
}
_fv_own_rate(info, k, q) =
  "fv() wants {info.fields[k]}_t by itself in its equation, with a number as its factor: {q.text}"
# Refuses first derivatives outside of fluxes whose factors depend on a
# derivative, or in a system on a field.
_fv_refuse_quasi(s) = {
  (d, m) = (s.dims + 1, s.m)
  for k in each(s.dims) {
    told =
      _dependence(
        (...a) -> stack(..._fv_quasi(s, k, (...map(i -> a[i], each(d)),), map(i -> a[d + i], s.all),
          map(i -> a[d + m + i], s.all))), ...map(i -> 0.5, each(d + 2 * m))).factors
    (linear, fixed) = (true, true)
    for i in s.all {
      for j in s.all {
        if told[d + m + i][d + m + j] { linear = false }
        if told[d + m + i][d + j] { fixed = false }
      }
    }
    if not linear {
      _refuse(
        "fv() wants first derivatives in space to stand linearly, as in a(u)*u_x, or under a "
        "derivative, as in ∂x(f(u))")
    }
    if m > 1 and not fixed {
      _refuse(
        "fv() finds the flux of a(u)*u_x for one field, or where a is constant; of a system of "
        "other form, write what is conserved: q_t + ∂x(f(q)) == s")
    }
  }
}

# ---- solutions as functions

# Returns a field as a function of (t, x, ...). In time it takes further steps
# from the last stored time before t. Within a cell it is a parabola through the
# average and the reconstructed face values.
_fv_function(s, m, grid, times, switches, rows, k) = {
  size = s.info.sizes[k]
  at = t -> {
    before = max(0, min(len(times) - 1, sum(i64(times <= stop_gradient(t))) - 1))
    start = map(r -> r[before], rows)
    if t > times[before] {
      (U, reached, steps, why) = _fv_past(s, m, grid, times[before], t, switches, start)
      if why > 0 { _fv_failed(s, m, grid, U, reached, steps, why) }
      U
    } else {
      # A step of length zero defines the derivative with respect to t.
      step = () -> _fv_step(s, m, grid, times[before], start, t - times[before],
        _fv_waves(s, m, grid, t, start))
      _value_of(step, start)
    }
  }
  one = (t, X) -> {
    U = at(t)
    if size == 0 { _fv_value(s, m, grid, t, U, s.first[k], X) } else {
      stack(...map(i -> _fv_value(s, m, grid, t, U, s.first[k] + i, X), each(size));
        axis = rank(X[0]))
    }
  }
  if s.dims == 1 {
    (t, x) -> {
      tr = f64(t)
      xr = f64(x)
      if rank(tr) == 0 { one(tr, list(xr)) } else {
        if rank(xr) == 0 {
          v = map(q -> one(q, list(xr)), ravel(tr));
          reshape(v, ...shape(tr), ...(if size == 0 { () } else { (size,) }))
        } else {
          both = tr + 0 * xr
          v = map((q, y) -> one(q, list(y)), ravel(both), ravel(xr + 0 * tr))
          reshape(v, ...shape(both), ...(if size == 0 { () } else { (size,) }))
        }
      }
    }
  } else {
    (t, x, y) -> {
      tr = f64(t)
      xr = f64(x) + 0 * f64(y)
      yr = f64(y) + 0 * f64(x)
      if rank(tr) == 0 { one(tr, list(xr, yr)) } else {
        both = tr + 0 * xr
        v = map((q, a, b) -> one(q, list(a, b)), ravel(both), ravel(xr + 0 * tr),
          ravel(yr + 0 * tr))
        reshape(v, ...shape(both), ...(if size == 0 { () } else { (size,) }))
      }
    }
  }
}

# Applies f at arrays of any one shape.
_fv_everywhere(f, args) =
  if rank(args[0]) == 0 {
    f(...args)
  } else {
    reshape(map(f, ...map(a -> ravel(a), args)), ...shape(args[0]))
  }

_fv_value(s, m, grid, t, U, i, X) = {
  # With second derivatives in the equations, use a reconstruction that has
  # them.
  how = if s.diffuses { (...m, reconstruct = "weno5") } else { m }
  g = if s.diffuses { 3 } else { grid.g }
  cells = list()
  inside = list()
  for k in each(s.dims) {
    a = grid.lo[k]
    L = grid.hi[k] - a
    x = if grid.periodic[k] {
      a + (X[k] - a) - L * floor(stop_gradient((X[k] - a) / L))
    } else {
      X[k]
    }
    c = clamp(i64(floor(stop_gradient((x - a) / grid.h[k]))), 0, grid.n[k] - 1)
    cells = push(cells, c)
    inside = push(inside, (x - a) / grid.h[k] - c - 0.5)
  }
  u = if s.dims == 1 { U[i][cells[0]] } else { U[i][cells[0], cells[1]] }
  value = u
  for k in each(s.dims) {
    Q = _fv_padded(s, grid, k, g, t, U)[i]
    v = map(o -> {
      c = cells[k] + (g + o)
      if s.dims == 1 { Q[c] } else { if k == 0 { Q[c, cells[1]] } else { Q[cells[0], c] } }
    }, each(-g + 1, g))
    z = inside[k]
    if how.reconstruct != "first" {
      left = _fv_everywhere((...w) -> _fv_edges(how, list(...w))[0], v)
      right = _fv_everywhere((...w) -> _fv_edges(how, list(...w))[1], v)
      value = value + (right - left) * z + (0.5 * (left + right) - u) * (6 * z^2 - 0.5)
    }
  }
  value
}
