# fv.dsl - finite volumes: conservation laws in one or two space dimensions, recognised from the statement, marched by explicit steps, or by implicit ones where diffusion or sources are stiff.
#
# What parser/problem_flux.c takes apart (the terms of each equation, as functions) becomes here a flux for each coordinate, what diffuses, and sources: functions of a point and of a state, which
# is a tuple of numbers, one for each scalar field and each component of a vector. Speeds of waves come from the derivative of the flux. fv_flux.dsl has numerical fluxes and reconstructions.
# Averages are kept one array for each number of the state, so that a step is arithmetic along them, and the whole explicit march is one loop.

# fv(n; flux, reconstruct, limiter, cfl, steps, max_steps, positive): finite volumes in n cells (in 2-D n by n, or n = (nx, ny)), for q_t + ∂x(f(q)) + ∂y(g(q)) == s
#   flux: "rusanov", "hll", "hllc" (compressible flow: density, momenta, energy), "roe" (up to three unknowns), "godunov" (one unknown). Of one unknown f may bend either way.
#   reconstruct: "first" (order 1), "muscl" (2), "weno5" (Jiang and Shu) and "weno5z" (5 along each coordinate; 2 in 2-D unless f is linear). limiter, of muscl: "minmod", "vanleer", "superbee".
#   cfl: 0.8 of what is stable in first order when 0, shared among the coordinates; steps: "euler", "ssprk2", "ssprk3", by the reconstruction when "".
#   positive: none, or a function of the fields that gives what must stay above 0 in a cell (a number or a tuple): where a reconstructed value is not, the cell's own averages are taken,
#   and fluxes out of a cell that would fall below 0 are held back. What is below 0 at the beginning does not fall below its least.
#   A coordinate is periodic, or has a condition on each field at either end: fields with values alone are what comes in, u_x == 0 or nothing lets out, values 0 beside u_x == 0 are a wall.
#   Second derivatives go by central differences. Steps are explicit, as short as waves, diffusion and sources ask for, or, where these ask for thousands of times more than waves do, implicit (radau5). A condition on the slope, as p_x + p == 0 where ∂x(p_x + p) is the flux, is met at the face,
#   to rounding. Errors: a state that is no finite number, with its place and time; more than max_steps steps. The solution has x (centres of cells), values f64[times, numbers, cells].
#   [Source: R. J. LeVeque, Finite Volume Methods for Hyperbolic Problems, 2002; G.-S. Jiang and C.-W. Shu, J. Comput. Phys. 126 (1996) 202-228; S. Gottlieb, C.-W. Shu and E. Tadmor, SIAM Rev. 43 (2001) 89-112]
#     problem burgers() {
#       domain t in [0, 0.5], x in [0, 1] periodic
#       field u
#       u_t + ∂x(u^2/2) == 0
#       u == sin(2π*x) at t = 0
#     }
#     s = solve(burgers(), fv(n = 100));
#     s.u(0.5, 0.4)                  #~ 0.5965 tol 5e-3
#     sum(s.values[-1, 0])           #~ 0 tol 1e-12
fv(n = 400; flux = "rusanov", reconstruct = "muscl", limiter = "vanleer", cfl = 0.0, steps = "", max_steps = 1000000,
  positive = none) = {
  if not _fv_one_of(flux, ("rusanov", "hll", "hllc", "roe", "godunov")) {
    _refuse("fv() knows the fluxes \"rusanov\", \"hll\", \"hllc\", \"roe\" and \"godunov\", not \"{flux}\"")
  }
  if not _fv_one_of(reconstruct, ("first", "muscl", "weno5", "weno5z")) {
    _refuse("fv() reconstructs by \"first\", \"muscl\", \"weno5\" or \"weno5z\", not \"{reconstruct}\"")
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
    if reconstruct == "first" { "euler" } else { if reconstruct == "muscl" { "ssprk2" } else { "ssprk3" } }
  }
  (name = "fv", n = n, flux = flux, reconstruct = reconstruct, limiter = limiter, cfl = cfl, steps = how, max_steps = max_steps,
    positive = positive, solve = _solve_fv, coarser = _fv_coarser)
}

# reconstruct(v; method, limiter): values at the upper faces of periodic cells from their averages v f64[n], from below: what fv() takes at one side of each face
#   method: "first", "muscl", "weno5" or "weno5z"; limiter: "minmod", "vanleer" or "superbee". Values from above are reconstruct of v and of the result turned around.
#   [Source: G.-S. Jiang and C.-W. Shu, J. Comput. Phys. 126 (1996) 202-228]
#     reconstruct([0.0, 1, 2, 3, 0, 0]; method = "muscl")   #> [0, 1.5, 2.5, 3, 0, 0]
reconstruct(v; method = "weno5", limiter = "vanleer") = {
  m = fv(; reconstruct = method, limiter = limiter)
  g = if method == "first" { 0 } else { if method == "muscl" { 1 } else { 2 } }
  n = len(v)
  if n < 2 * g + 1 { error("reconstruct() with method = \"{method}\" wants at least {2 * g + 1} averages, not {n}") }
  P = concat(v[n - g..], f64(v), v[..g])
  map((...w) -> _fv_edges(m, list(...w))[1], ...map(o -> P[o..o + n], list(...(0..(2 * g + 1)))))
}

_fv_one_of(x, names) = {
  found = false
  for n in names { if n == x { found = true } }
  found
}

# conservation(problem): what fv() takes a statement for, as text: of each field the flux along each coordinate, what diffuses, and the source
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
    q = info.equations[s.rows[k]]
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
        text = text + (if term.factor > 0 { " + " } else { " - " }) + by + "∂{info.coords[term.coord]}({inner})"
      }
      if what == "quasi" {
        text = text + (if term.factor > 0 { " + " } else { " - " }) + by + term.text
        if not _fv_stands(s) { found = found + (if found == "" { "" } else { ", " }) + term.text }
      }
      if what == "source" or what == "diffusion" {
        sign = if term.factor < 0 { if rest == "" { "" } else { " + " } } else { if rest == "" { "-" } else { " - " } }
        rest = rest + sign + by + (if _fv_is_one(term.text) { term.text } else { "({term.text})" })
      }
    }
    lines = push(lines, text + " == " + (if rest == "" { "0" } else { rest }) +
      (if found == "" { "" } else { ", with the flux of {found} by integration" }))
  }
  join(lines, "\n")
}

# Whether a text needs no brackets around it as a factor: no space outside of brackets
_fv_is_one(text) = find(text, " ") < 0 or (find(text, "[") == 0 and find(text, "]") == len(text) - 1)

# Whether a statement is a conservation law as it is written: every equation has a flux under a derivative, and nothing diffuses
_fv_suits(info) = {
  fine = info.eigen == ""
  if fine { fine = _fv_why_not(info) == "" }
  for q in info.equations {
    flux = false
    for term in q.terms {
      what = _fv_kind(info, term)
      if what == "flux" { flux = true }
      o = _fv_orders(info, term.jets)
      if what == "diffusion" or what == "quasi" or (what == "flux" and o.first) { fine = false }
    }
    fine = fine and flux
  }
  fine
}
_fv_explain(info) =
  "{info.name}: a conservation law, so solve() takes fv(): finite volumes, explicit steps, shocks are kept sharp; reconstruct = \"weno5\" is of order 5 where the solution is smooth.\n" +
  _fv_text(info)

# ---- what a statement is

_fv_time(info) = if len(info.coords) > 1 and info.coords[0] == "t" { 0 } else { -1 }

# Whether an expression has derivatives: in space of order 1, of order 2, in time
_fv_orders(info, jets) = {
  (first, second, rate, more, value) = (false, false, false, false, false)
  for j in jets {
    o = 0
    for k in list(...(1..len(info.coords))) { o = o + info.jets[j][1 + k] }
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

# Why a problem is not one for fv(), or nothing
_fv_why_not(info) = {
  why = ""
  dims = len(info.coords) - 1
  if _fv_time(info) < 0 {
    why =
      "fv() solves conservation laws in t and one or two space coordinates, with t the first coordinate of the domain; for problems without t see fd() and fem()"
  }
  if why == "" and dims > 2 { why = "fv() takes one or two space coordinates, and this problem has {dims}" }
  if why == "" {
    for i in list(...(0..dims)) {
      if kind(info.region) != "none" { why = "fv() takes intervals and boxes; fem() takes regions of other forms" }
    }
  }
  for (k, f) in enumerate(info.fields) {
    found = 0
    for q in info.equations {
      for j in q.jets { if info.jets[j][0] == k and info.jets[j][1] == 1 { found = found + 1 } }
    }
    if why == "" and found != 1 {
      why = "fv() wants one equation with {f}_t for the field {f}, as in {f}_t + ∂x(...) == 0; there are {found}"
    }
  }
  for q in info.equations {
    if why == "" and _fv_orders(info, q.jets).more {
      why =
        "fv() serves first derivatives by t, and first and second ones in space; fd(), fourier() and chebyshev() take others, and this is: {q.text}"
    }
    for term in q.terms {
      if why == "" and _fv_kind(info, term) == "more" {
        why =
          "fv() takes fluxes of the fields and their first derivatives, and ∂{info.coords[term.coord]}({term.text}) has second ones"
      }
    }
  }
  why
}

# The equation of each field: that with its derivative by t
_fv_rows(info) = map(k -> {
  row = 0
  for (i, q) in enumerate(info.equations) { for j in q.jets { if info.jets[j][0] == k and info.jets[j][1] == 1 { row = i } } }
  row
}, list(...(0..len(info.fields))))

# A problem as a system: m numbers, space coordinates, where each field's numbers begin, and functions of point X = (t, x, ...) and states
_fv_system(info) = {
  first = list()
  m = 0
  for size in info.sizes {
    first = push(first, m)
    m = m + max(1, size)
  }
  dims = len(info.coords) - 1
  second = false
  for q in info.equations {
    for term in q.terms {
      o = _fv_orders(info, term.jets)
      if o.second or (term.coord > 0 and o.first) { second = true }
    }
  }
  (stirs, drifts) = (false, false)
  for q in info.equations {
    for term in q.terms {
      what = _fv_kind(info, term)
      if what == "source" or what == "quasi" or what == "diffusion" { stirs = true }
      if what == "diffusion" and _fv_orders(info, term.jets).first { drifts = true }
    }
  }
  # what comes in from an end may be faster than what is inside
  driven = stirs
  for c in info.conditions { if c.at.coord > 0 { if _fv_orders(info, c.jets).value { driven = true } } }
  (info = info, m = m, dims = dims, space = list(...(1..(dims + 1))), first = first, rows = _fv_rows(info), diffuses = second,
    driven = driven, stirs = stirs, drifts = drifts, all = list(...(0..m)))
}

_fv_zero(s) = map(i -> 0.0, s.all)
_fv_none(s) = map(k -> map(i -> 0.0, s.all), s.space)

# A field out of numbers of a state
_fv_field(s, k, U) = if s.info.sizes[k] == 0 { U[s.first[k]] } else {
  stack(...map(i -> U[s.first[k] + i] + 0.0, list(...(0..s.info.sizes[k]))))
}
# All jets at a point: state, and its first and second derivatives by each coordinate (of second ones also mixed: in the order xx, yy, xy). `rates`: by t
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
        if o == 1 { _fv_field(s, j[0], along[at]) } else { _fv_field(s, j[0], bent[if both { 2 } else { at }]) }
      }
    }
  }
}, list(...s.info.jets))

# What equations' functions give, as numbers of a state: row k is for field k
_fv_numbers(s, values) = {
  out = list()
  for (k, v) in enumerate(values) {
    size = s.info.sizes[k]
    if size == 0 { out = push(out, v) } else {
      w = v + zeros(size)
      for i in list(...(0..size)) { out = push(out, w[i]) }
    }
  }
  out
}
_fv_part(v, part) = if part < 0 { v } else {
  if kind(v) == "array" { if rank(v) == 2 { v[.., part] } else { v[part] } } else { v[part] }
}
# The sum of all terms of one kind of each field's equation
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
  for q in s.info.equations { for term in q.terms { if _fv_kind(s.info, term) == what { found = true } } }
  found
}
_fv_has_viscous(s) = {
  found = false
  for q in s.info.equations {
    for term in q.terms { if _fv_kind(s.info, term) == "flux" and _fv_orders(s.info, term.jets).first { found = true } }
  }
  found
}

# The flux along the k-th coordinate, without what derivatives add to it. A quasi-linear a(u)u_x has the antiderivative ∫ a du as its flux (from 0, by Gauss's rule).
_fv_flux(s, k, X, U) = {
  zero = _fv_none(s)
  F = _fv_terms(s, "flux", k + 1, X, _fv_jets(s, U, zero, list(_fv_zero(s), _fv_zero(s), _fv_zero(s)), _fv_zero(s)))
  if _fv_has(s, "quasi") { Q = _fv_primitive(s, k, X, U); map(i -> F[i] + Q[i], s.all) } else { F }
}
# a(U) dU of the quasi-linear terms, the derivative of U along the k-th coordinate being V
_fv_quasi(s, k, X, U, V) = {
  along = map(j -> if j == k + 1 { V } else { _fv_zero(s) }, s.space)
  zero = _fv_zero(s)
  with = _fv_terms(s, "quasi", -1, X, _fv_jets(s, U, along, list(zero, zero, zero), zero))
  without = _fv_terms(s, "quasi", -1, X, _fv_jets(s, U, _fv_none(s), list(zero, zero, zero), zero))
  map(i -> with[i] - without[i], s.all)
}
_fv_primitive(s, k, X, U) = {
  nodes = (0.019855071751231884, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751, 0.5917173212478249,
    0.7627662049581645, 0.8983332387068134, 0.9801449282487681)
  weights = (0.05061426814518813, 0.11119051722668724, 0.15685332293894363, 0.18134189168918100, 0.18134189168918100,
    0.15685332293894363, 0.11119051722668724, 0.05061426814518813)
  total = _fv_zero(s)
  for i in list(...(0..8)) {
    q = _fv_quasi(s, k, X, map(u -> nodes[i] * u, U), U)
    total = map(j -> total[j] + weights[i] * q[j], s.all)
  }
  total
}
# Whether quasi-linear terms are taken as they stand, a(x)u_x and not ∂x(a u) - a_x u: where a is proven not to depend on the state, so that there are no shocks, and not proven to be the same everywhere.
# Where a has no bound, as 2/r at r = 0, neither has the flux.
_fv_stands(s) = if not _fv_has(s, "quasi") { false } else {
  alone = true
  for q in s.info.equations {
    for term in q.terms {
      # a flux with values of fields has shocks of its own
      if _fv_kind(s.info, term) == "flux" { for j in term.jets { if _fv_orders(s.info, list(j)).value { alone = false } } }
    }
  }
  if not alone { false } else {
    d = s.dims
    n = s.dims + 1 + s.m
    (still, everywhere) = (true, true)
    for k in list(...(0..d)) {
      told = _dependence((...a) -> stack(..._fv_quasi(s, k, (...map(i -> a[i], list(...(0..(d + 1)))),),
        map(i -> a[d + 1 + i], s.all), map(i -> 1.0 + 0.3 * i, s.all))), ...map(i -> 0.5, list(...(0..n)))).depends
      for j in list(...(1..n)) { if told[j] { if j > d { still = false } else { everywhere = false } } }
    }
    still and not everywhere
  }
}
# a(x)u_x in each cell: the differences of fluxes between the values at its faces for its own a. Where diffusion smooths it anyway, central differences.
_fv_as_it_stands(s, m, grid, t, U, waves) = {
  ks = list(...(0..s.dims))
  total = list()
  for k in ks {
    (n, g) = (grid.n[k], grid.g)
    (left, right) = _fv_sides(s, m, grid, k, waves[k].P)
    middle = map(p -> 0.5 * (_fv_cut(p, k, g - 1, g + n) + _fv_cut(p, k, g, g + n + 1)), waves[k].P)
    D = if s.diffuses {
      _fv_each(s, (...a) -> _fv_spread(s, k, (t, ...map(i -> a[i], ks)), map(i -> a[s.dims + i], s.all)),
        list(...grid.centres, ...U))
    } else { 0.0 * U[0] }
    own = map(c -> _fv_cut(c, k, 1, n + 1), waves[k].speeds)
    both = v -> list(_fv_cut(v, k, 0, n), _fv_cut(v, k, 1, n + 1))
    V = _fv_each(s, (...a) -> {
      X = (t, ...map(i -> a[i], ks))
      at = s.dims + 1
      c = map(i -> a[at + 6 * s.m + i], list(...(0..len(own))))
      speed = if len(c) == 1 { c[0] } else { max(-c[0], c[1]) }
      w = if speed * grid.h[k] > 4 * a[s.dims] { 1 - 4 * a[s.dims] / (speed * grid.h[k]) } else { 0.0 }
      # at the lower face and the upper one
      flux = j -> {
        to = part -> map(i -> a[at + (6 * i + 2 * part + j)], s.all)
        (L, R, M) = (to(0), to(1), to(2))
        _fv_between(s, m, k, X, map(i -> M[i] + w * (L[i] - M[i]), s.all), map(i -> M[i] + w * (R[i] - M[i]), s.all),
          list(...c, ...c))
      }
      (low, high) = (flux(0), flux(1))
      map(i -> (high[i] - low[i]) / grid.h[k], s.all)
    }, list(...grid.centres, D, ..._fv_flat(map(i -> list(...both(left[i]), ...both(right[i]), ...both(middle[i])), s.all)),
      ...own))
    total = if len(total) == 0 { V } else { map(i -> total[i] + V[i], s.all) }
  }
  total
}
# What derivatives add to the flux
_fv_viscous(s, k, X, U, along) = {
  zero = _fv_zero(s)
  with = _fv_terms(s, "flux", k + 1, X, _fv_jets(s, U, along, list(zero, zero, zero), zero))
  without = _fv_terms(s, "flux", k + 1, X, _fv_jets(s, U, _fv_none(s), list(zero, zero, zero), zero))
  map(i -> with[i] - without[i], s.all)
}
# What stands besides fluxes, with the sign of the left side
_fv_rest(s, X, U, along, bent) = {
  jets = _fv_jets(s, U, along, bent, _fv_zero(s))
  a = _fv_terms(s, "source", -1, X, jets)
  b = _fv_terms(s, "diffusion", -1, X, jets)
  quiet = _fv_terms(s, "quasi", -1, X, _fv_jets(s, U, _fv_none(s), bent, _fv_zero(s)))
  out = map(i -> a[i] + b[i] + quiet[i], s.all)
  if _fv_has(s, "quasi") and not _fv_stands(s) {
    # a(x, u)u_x = ∂x(∫ a du) - ∫ a_x du
    for k in s.space {
      slope = jvp(x -> _fv_primitive(s, k - 1, map(i -> if i == k { x } else { X[i] }, list(0, ...s.space)), U), X[k], 1.0)[1]
      out = map(i -> out[i] - slope[i], s.all)
    }
  }
  out
}
# Numbers under which second derivatives are multiplied, at most: for the length of a step
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
# The same of the first derivatives that stand in one term with second ones, as in ∂r(r*u_r)/r
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
# How fast what stands besides fluxes changes a state: the largest eigenvalue of its derivative, from
# above, by a norm of its fourth power, on which the units of the fields have little say
_fv_stir(s, X, U) = {
  zero = _fv_zero(s)
  f = W -> _fv_rest(s, X, W, _fv_none(s), list(zero, zero, zero))
  A = map(j -> jvp(f, U, map(i -> if i == j { 1.0 } else { 0.0 }, s.all))[1], s.all)
  if s.m == 1 { abs(A[0][0]) } else {
    square = A -> map(c -> _fv_times(A, c), A)
    # of numbers near 1, so that no power overflows
    size = 1e-300 + _fv_largest_row(s, map(c -> map(v -> abs(v), c), A))
    B = square(square(map(c -> map(v -> v / size, c), A)))
    most = _fv_largest_row(s, map(c -> map(v -> abs(v), c), B))
    # the root has no derivative at 0
    if most > 0 { size * sqrt(sqrt(most)) } else { 0.0 * size }
  }
}

# ---- grids

# f at every cell or face: arrays with one or two axes, one number of each handed to f
_fv_each(s, f, args) = if s.dims == 1 { map(f, ...args) } else { map((...rows) -> map(f, ...rows), ...args) }
_fv_cut(v, axis, a, b) = if rank(v) == 1 { v[a..b] } else { if _known(axis, "axis") == 0 { v[a..b] } else { v[.., a..b] } }

# Centres of cells in [a, b]; faces
_fv_centres(a, b, n) = a + (b - a) * (iota(n) + 0.5) / f64(n)
_fv_faces(a, b, n) = a + (b - a) * iota(n + 1) / f64(n)

_fv_grid(s, m) = {
  info = s.info
  lo = map(k -> info.lo[k], s.space)
  hi = map(k -> info.hi[k], s.space)
  n = if kind(m.n) == "tuple" or kind(m.n) == "list" { list(...m.n) } else { map(k -> m.n, s.space) }
  if len(n) != s.dims { _refuse("fv() was given {len(n)} numbers of cells for {s.dims} space coordinate(s)") }
  g = if m.reconstruct == "first" { 1 } else { if m.reconstruct == "muscl" { 2 } else { 3 } }
  for k in n {
    if k < 2 * g {
      error("fv() with reconstruct = \"{m.reconstruct}\" wants at least {2 * g} cells along each coordinate, not {k}")
    }
  }
  axes = map(k -> _fv_centres(lo[k], hi[k], n[k]), list(...(0..s.dims)))
  (lo = lo, hi = hi, n = n, g = g, h = map(k -> (hi[k] - lo[k]) / n[k], list(...(0..s.dims))), axes = axes,
    periodic = map(k -> info.periodic[k], s.space),
    centres = _fv_mesh(axes),
    faces = map(k -> _fv_mesh(map(j -> if j == k { _fv_faces(lo[j], hi[j], n[j]) } else { axes[j] }, list(...(0..s.dims)))),
      list(...(0..s.dims))))
}
# Arrays of each coordinate at all points
_fv_mesh(axes) = if len(axes) == 1 { list(axes[0]) } else {
  list(expand(axes[0], 1) + 0.0 * expand(axes[1], 0), 0.0 * expand(axes[0], 1) + expand(axes[1], 0))
}

# Averages over cells of what conditions at the beginning say, by Gauss's rule with four points along each coordinate
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
    at = map(k -> grid.centres[k] + 0.5 * grid.h[k] * nodes[p[k]], list(...(0..s.dims)))
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
        one = map(i -> if i >= s.first[k] and i < s.first[k] + max(1, s.info.sizes[k]) { 1.0 } else { 0.0 }, s.all)
        b = c.residual(X, _fv_jets(s, one, none_, bent, zero))
        v = -a / (b - a)
      }
    }
    v
  }, list(...(0..len(s.info.fields))))
  # numbers of one kind, whatever was written
  map(v -> v + 0.0, _fv_numbers(s, values))
}

# ---- ends

_fv_conditions(s, field, coord, side) = {
  out = list()
  for c in s.info.conditions {
    if c.at.coord == coord and c.at.side == side and s.info.jets[c.jets[0]][0] == field { out = push(out, c) }
  }
  out
}
_fv_only_value(s, c) = { o = _fv_orders(s.info, c.jets); not (o.first or o.second or o.rate) }
# Whether all fields have their values given at an end, and nothing diffuses: then that state is what stands outside
_fv_comes_in(s, coord, side) = {
  whole = not s.diffuses
  for k in list(...(0..len(s.info.fields))) {
    q = _fv_conditions(s, k, coord, side)
    if len(q) == 0 { whole = false } else { if not _fv_only_value(s, q[0]) { whole = false } }
  }
  whole
}

# The state j cells outside of an end where inside, j cells from it, is U: at point X on the end.
# A condition is met by the mean of both and the difference quotient between them, or where `whole` by
# the state outside alone. Fields that a condition mentions beside its own are those inside.
_fv_outside(s, coord, side, whole, distance, X, U, last) = {
  values = map(k -> {
    q = _fv_conditions(s, k, coord, side)
    if len(q) == 0 { _fv_field(s, k, last) } else {
      inside = _fv_field(s, k, U)
      out = if side == 0 { -1.0 } else { 1.0 }
      _fv_meeting(v -> {
        own = if whole { v } else { 0.5 * (inside + v) }
        slope = if whole { 0.0 * v } else { out * (v - inside) / distance }
        zero = _fv_zero(s)
        along = map(j -> if j == coord { _fv_with(s, k, zero, slope) } else { zero }, s.space)
        q[0].residual(X, _fv_jets(s, _fv_with(s, k, U, own), along, list(zero, zero, zero), zero))
      }, inside)
    }
  }, list(...(0..len(s.info.fields))))
  map(v -> v + 0.0, _fv_numbers(s, values))
}
# A state with other numbers for field k
_fv_with(s, k, U, v) = {
  size = s.info.sizes[k]
  map(i -> if i < s.first[k] or i >= s.first[k] + max(1, size) { U[i] } else {
    if size == 0 { v } else { v[i - s.first[k]] }
  }, s.all)
}
# A zero of r by Newton's method from v: of what is proven to be affine in one step. Where it is not
# found the result is nan, which ends the march with an error.
_fv_meeting(r, v) = {
  one = 1.0 + 0.0 * v
  turn = v -> { (y, d) = jvp(r, v, one); v - y / d }
  if _fv_is_affine(r, v) { turn(v) } else {
    w = v
    before = v
    for _ in list(...(0..20)) { before = w; w = turn(w) }
    if kind(v) == "array" and rank(v) > 0 {
      where(abs(w - before) <= 1e-9 * (1 + abs(w)), w, nan)
    } else { if abs(w - before) <= 1e-9 * (1 + abs(w)) { w } else { nan } }
  }
}
# Whether a function is affine, by what it depends on
_fv_is_affine(r, v) = {
  bends = false
  for row in _dependence(r, v).factors { for b in row { if b { bends = true } } }
  not bends
}
# For each number of the state whether a condition on its slope is met at the face of an end: there the
# whole flux is that of the state at the face, so that a condition on the flux holds to rounding.
_fv_meets_at_face(s, coord, side) = {
  out = map(i -> false, s.all)
  if s.diffuses {
    for k in list(...(0..len(s.info.fields))) {
      for c in _fv_conditions(s, k, coord, side) {
        if not _fv_only_value(s, c) {
          for i in list(...(0..max(1, s.info.sizes[k]))) { out[s.first[k] + i] = true }
        }
      }
    }
  }
  out
}

# U with g cells on each side of an axis
_fv_padded(s, grid, k, g, t, U) = {
  n = grid.n[k]
  if grid.periodic[k] {
    map(u -> concat(_fv_cut(u, k, n - g, n), u, _fv_cut(u, k, 0, g); axis = k), U)
  } else {
    low = list()
    high = list()
    others = list(...(0..s.dims))
    for j in list(...(0..g)) {
      for side in list(0, 1) {
        whole = _fv_comes_in(s, k + 1, side)
        at = if side == 0 { j } else { n - 1 - j }
        edge = if side == 0 { 0 } else { n - 1 }
        inside = map(u -> _fv_cut(u, k, at, at + 1), U)
        last = map(u -> _fv_cut(u, k, edge, edge + 1), U)
        x = map(i -> if i == k {
          0.0 * inside[0] + (if side == 0 { grid.lo[k] } else { grid.hi[k] })
        } else {
          _fv_cut(grid.centres[i], k, 0, 1)
        }, others)
        v = _fv_each(s, (...a) -> {
          X = (t, ...map(i -> a[i], others))
          W = map(i -> a[s.dims + i], s.all)
          V = map(i -> a[s.dims + s.m + i], s.all)
          _fv_outside(s, k + 1, side, whole, (2 * j + 1) * grid.h[k], X, W, V)
        }, list(...x, ...inside, ...last))
        if side == 0 { low = push(low, v) } else { high = push(high, v) }
      }
    }
    order = list(...(0..g))
    map(i -> concat(...map(j -> low[g - 1 - j][i], order), U[i], ...map(j -> high[j][i], order); axis = k), s.all)
  }
}

# ---- marching

# Along each coordinate: averages with cells outside, and speeds in each cell and one more at each end: the largest one as it is without sign, or what hll wants, the smallest and the largest. Of one
# unknown whose speed is not between those of two states for all states between them, those to the neighbours count as well.
_fv_waves(s, m, grid, t, U) = map(k -> {
  n = grid.n[k]
  g = grid.g
  P = _fv_padded(s, grid, k, g, t, U)
  c = if _fv_turns(s, k) {
    faces = _fv_each(s, (...a) -> {
      X = (t, ...map(i -> a[i], list(...(0..s.dims))))
      list(..._fv_extremes(s, k, X, a[s.dims], a[s.dims + 1]))
    }, list(...grid.faces[k], _fv_cut(P[0], k, g - 1, g + n), _fv_cut(P[0], k, g, g + n + 1)))
    (low, high) = map((v, sign) -> _fv_each(s, (a, b) -> sign * max(sign * a, sign * b),
      list(concat(_fv_cut(v, k, 0, 1), v; axis = k), concat(v, _fv_cut(v, k, n, n + 1); axis = k))), faces, list(-1.0, 1.0))
    if m.flux == "hll" { list(low, high) } else { list(_fv_each(s, (a, b) -> max(-a, b), list(low, high))) }
  } else {
    x = map(c -> concat(_fv_cut(c, k, 0, 1), c, _fv_cut(c, k, n - 1, n); axis = k), grid.centres)
    _fv_each(s, (...a) -> {
      (low, high) = _fv_speeds(s, k, (t, ...map(i -> a[i], list(...(0..s.dims)))), map(i -> a[s.dims + i], s.all))
      if m.flux == "hll" { list(low, high) } else { list(max(-low, high)) }
    }, list(...x, ...map(p -> _fv_cut(p, k, g - 1, g + n + 1), P)))
  }
  (P = P, speeds = c)
}, list(...(0..s.dims)))

# -(F(i+1/2) - F(i-1/2))/h along each coordinate, less what stands besides fluxes; dt: how long a step by this rate alone will be
_fv_rate(s, m, grid, t, U, waves, dt) = {
  F = map(k -> _fv_face_fluxes(s, m, grid, k, t, waves[k]), list(...(0..s.dims)))
  besides = _fv_besides(s, grid, t, U)
  rest = if not _fv_stands(s) { besides } else {
    D = _fv_as_it_stands(s, m, grid, t, U, waves)
    if len(besides) == 0 { map(v -> -v, D) } else { map(i -> besides[i] - D[i], s.all) }
  }
  rate = F -> {
    total = rest
    for k in list(...(0..s.dims)) {
      n = grid.n[k]
      part = i -> (_fv_cut(F[k][i], k, 0, n) - _fv_cut(F[k][i], k, 1, n + 1)) * (1 / grid.h[k])
      total = map(i -> if len(total) == 0 { part(i) } else { total[i] + part(i) }, s.all)
    }
    total
  }
  first = rate(F)
  if kind(m.positive) == "none" { first } else {
    # held back fluxes may be missed elsewhere, so that cells are added until none is left that loses too much
    total = first
    held = 0.0 * U[0]
    open = true
    while open {
      bad = _fv_each(s, (...u) -> if _fv_to_keep(s, m, list(...u)) >= grid.least { 0.0 } else { 1.0 },
        map(i -> U[i] + dt * total[i], s.all))
      open = max(bad * (1 - held)) > 0
      if open {
        held = max(held, bad)
        total = rate(map(k -> _fv_held_back(s, m, grid, k, held, U, F[k], 2 * s.dims * dt / grid.h[k]),
          list(...(0..s.dims))))
      }
    }
    total
  }
}
# Fluxes through the faces of cells that would lose what has to stay positive, and of their neighbours: as
# much of each as leaves both cells positive when every face has a like share of the cell. This is always
# possible, conserves what the fluxes do, and is left out elsewhere.
_fv_held_back(s, m, grid, k, bad, U, F, share) = {
  n = grid.n[k]
  beside = (v, outside) -> if grid.periodic[k] {
    concat(_fv_cut(v, k, n - 1, n), v, _fv_cut(v, k, 0, 1); axis = k)
  } else {
    concat(outside + 0.0 * _fv_cut(v, k, 0, 1), v, outside + 0.0 * _fv_cut(v, k, n - 1, n); axis = k)
  }
  sides = v -> list(_fv_cut(v, k, 0, n + 1), _fv_cut(v, k, 1, n + 2))
  b = beside(bad, 0.0)
  near = beside(_fv_each(s, (x, y, z) -> max(x, max(y, z)),
    list(_fv_cut(b, k, 0, n), _fv_cut(b, k, 1, n + 1), _fv_cut(b, k, 2, n + 2))), 0.0)
  # cells that are none, outside of an end, have no say
  real = beside(1.0 + 0.0 * bad, 0.0)
  states = map(u -> sides(beside(u, 0.0)), U)
  θ = _fv_each(s, (...a) -> {
    at = s.all
    left = map(i -> a[4 + i], at)
    right = map(i -> a[4 + s.m + i], at)
    f = map(i -> a[4 + 2 * s.m + i], at)
    # what is above the least stays so by more than the rounding of sums
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
  }, list(...sides(near), ...sides(real), ...map(v -> v[0], states), ...map(v -> v[1], states), ...F))
  map(v -> θ * v, F)
}
# What stands besides fluxes, with the sign of the right side; nothing where there is nothing
_fv_besides(s, grid, t, U) = {
  ks = list(...(0..s.dims))
  if s.diffuses { _fv_diffusion(s, grid, t, U) } else {
    if _fv_has(s, "source") or _fv_has(s, "quasi") {
      zero = _fv_zero(s)
      R =
        _fv_each(s,
          (...a) -> _fv_rest(s, (t, ...map(i -> a[i], ks)), map(i -> a[s.dims + i], s.all), _fv_none(s), list(zero, zero, zero)),
          list(...grid.centres, ...U))
      map(v -> -v, R)
    } else { list() }
  }
}

# Terms with second derivatives, by central differences of averages, and sources
_fv_diffusion(s, grid, t, U) = {
  ks = list(...(0..s.dims))
  P = map(k -> _fv_padded(s, grid, k, 1, t, U), ks)
  along = list()
  bent = list()
  for k in ks {
    n = grid.n[k]
    h = grid.h[k]
    along = push(along, map(v -> (_fv_cut(v, k, 2, n + 2) - _fv_cut(v, k, 0, n)) / (2 * h), P[k]))
    bent = push(bent, map(v -> (_fv_cut(v, k, 2, n + 2) - 2 * _fv_cut(v, k, 1, n + 1) + _fv_cut(v, k, 0, n)) / h^2, P[k]))
  }
  if s.dims == 1 { bent = push(push(bent, bent[0]), bent[0]) } else {
    Q = _fv_padded(s, grid, 1, 1, t, along[0])
    bent = push(bent, map(v -> (_fv_cut(v, 1, 2, grid.n[1] + 2) - _fv_cut(v, 1, 0, grid.n[1])) / (2 * grid.h[1]), Q))
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
      slopes = map(j -> if j == k { map(v -> (_fv_cut(v, k, 1, n + 2) - _fv_cut(v, k, 0, n + 1)) / h, P[k]) } else {
        Q = _fv_padded(s, grid, k, 1, t, along[j])
        map(v -> 0.5 * (_fv_cut(v, k, 0, n + 1) + _fv_cut(v, k, 1, n + 2)), Q)
      }, ks)
      V = _fv_each(s, (...a) -> {
        take = first -> map(i -> a[first + i], s.all)
        d = s.dims
        _fv_viscous(s, k, (t, ...map(i -> a[i], ks)), take(d), map(j -> take(d + s.m * (1 + j)), ks))
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

# Steps per unit of time that stability asks for, of waves and of what diffuses, and of sources, whose
# changes a step follows to a part of their own time
_fv_pace(s, m, grid, t, U, waves) = {
  ks = list(...(0..s.dims))
  cfl = if m.cfl > 0 { m.cfl } else { 0.8 }
  total = 0.0
  for k in ks {
    c = waves[k].speeds
    total = total + max(if len(c) == 1 { c[0] } else { _fv_each(s, (a, b) -> max(-a, b), c) }) / (cfl * grid.h[k])
  }
  if s.diffuses or s.stirs {
    v = _fv_each(s, (...a) -> {
      X = (t, ...map(i -> a[i], ks))
      V = map(i -> a[s.dims + i], s.all)
      q = if s.stirs { (if has(m, "calm") { m.calm } else { 2.0 }) * _fv_stir(s, X, V) } else { 0.0 }
      if s.diffuses {
        for k in ks {
          q = q + 2 * _fv_spread(s, k, X, V) / grid.h[k]^2
          if s.drifts { q = q + _fv_drift(s, k, X, V) / grid.h[k] }
        }
      }
      q
    }, list(...grid.centres, ...U))
    total = total + max(v)
  }
  total
}

# The same in the later stages of a step with WENO: no wave has gone farther than a cell, so extremes over neighbours of what speeds were will do, a quarter of the work saved. Not for the other
# reconstructions, which keep what is positive so, also where water meets a dry bed and is fast as soon as it is there.
_fv_later(s, m, grid, t, U, waves) = {
  ks = list(...(0..s.dims))
  map(k -> {
    c = waves[k].speeds
    (P = _fv_padded(s, grid, k, grid.g, t, U), speeds = if len(c) == 1 { list(_fv_wider(s, grid, k, c[0], 1.0)) } else {
      list(_fv_wider(s, grid, k, c[0], -1.0), _fv_wider(s, grid, k, c[1], 1.0))
    })
  }, ks)
}
# Extremes over neighbours along all coordinates; along the k-th there is a cell more at each end
_fv_wider(s, grid, k, v, sign) = {
  w = v
  for j in list(...(0..s.dims)) {
    n = shape(w)[j]
    # the cell before the first, where the coordinate is periodic, is that before the last but one
    (before, after) = if grid.periodic[j] { if j == k { (n - 3, 2) } else { (n - 1, 0) } } else { (0, n - 1) }
    p = concat(_fv_cut(w, j, before, before + 1), w, _fv_cut(w, j, after, after + 1); axis = j)
    (a, b) = (_fv_cut(p, j, 0, n), _fv_cut(p, j, 2, n + 2))
    w = _fv_each(s, (x, y, z) -> if sign > 0 { max(x, max(y, z)) } else { min(x, min(y, z)) }, list(a, w, b))
  }
  w
}

_fv_step(s, m, grid, t, U, dt, waves) = {
  f = (t, U) -> _fv_rate(s, m, grid, t, U, if m.reconstruct == "weno5" or
    m.reconstruct == "weno5z" { _fv_later(s, m, grid, t, U, waves) } else { _fv_waves(s, m, grid, t, U) }, dt)
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

# From (t, U) to t1: by explicit steps, or where these would be far more than waves ask for, by implicit ones. Gives the state, steps taken, where they ended, and why: 0 at t1, 1 after as many steps as are
# allowed, 2 without speeds, 3 with a state that is no finite number, which is the one given, 4 where no step keeps positive what has to be.
_fv_to(s, m, grid, t0, t1, U) = if grid.way == 0 { _fv_by_explicit_steps(s, m, grid, t0, t1, U) } else {
  if grid.way == 1 { _fv_by_implicit_steps(s, m, grid, t0, t1, U) } else {
    if grid.stiff > 0 {
      _fv_by_implicit_steps(s, m, grid, t0, t1, U)
    } else { _fv_by_explicit_steps(s, m, grid, t0, t1, U) }
  }
}
# The way to march, from the state at the beginning: 0 explicit, 1 implicit, 2 as `stiff` says when the program runs
_fv_way(s, m, grid, span) = if s.stirs or s.diffuses {
  stiff = _now(() -> {
    U = _fv_initial(s, grid)
    pace = _fv_pace(s, m, grid, span[0], U, _fv_waves(s, m, grid, span[0], U))
    steps = pace * (span[1] - span[0])
    waves = _fv_pace((...s, stirs = false, diffuses = false), m, grid, span[0], U, _fv_waves(s, m, grid, span[0], U))
    if steps > 20000 and pace > 20 * waves and pace < inf { 1.0 } else { 0.0 }
  })
  (way = if _is_fixed(stiff) { if stiff > 0 { 1 } else { 0 } } else { 2 }, stiff = stiff)
} else { (way = 0, stiff = 0.0) }
# All of the rate, waves included, by Radau's method of order 5 with the exact sparse Jacobian, to the tolerances of solve
_fv_by_implicit_steps(s, m, grid, t0, t1, U) = {
  n = size(U[0])
  flat = U -> concat(...map(u -> ravel(u), U))
  back = y -> map(i -> reshape(y[i * n..(i + 1) * n], ...shape(U[0])), s.all)
  f = (t, y) -> { V = back(y); flat(_fv_rate(s, m, grid, t, V, _fv_waves(s, m, grid, t, V), 0.0)) }
  r = ode(f, flat(U), (t0, t1); method = radau5(), rtol = grid.rtol, atol = grid.atol, saveat = [t1], sparse = true)
  y = r.values[-1]
  (back(y), t1, r.stats.steps, if abs(sum(y)) < inf { 0 } else { 3 })
}
# By explicit steps, in equal numbers as stability has it. A step that fails to keep positive what has to be is taken back, and a shorter one tried.
_fv_by_explicit_steps(s, m, grid, t0, t1, U) = {
  t = t0
  steps = 0
  why = 0
  share = 1.0
  (before, W, last, longest) = (t0, U, 0.0, inf)
  while t < t1 and why == 0 {
    waves = _fv_waves(s, m, grid, t, U)
    pace = _fv_pace(s, m, grid, t, U, waves)
    left = t1 - t
    fine = where(pace < inf, where(pace >= 0, steps < m.max_steps, false), false)
    # no branch around the step, so that it is one piece with what came before: a step of no length is what nobody looks at
    whole = where(pace * left <= 1, left, where(pace * left < 2, 0.5 * left, 1 / pace))
    # what came in or was stirred up in the last step may be twice as fast as that step could follow
    over = if s.driven { last * pace > 2 } else { false }
    all_ = if s.driven { where(share * whole < longest, share * whole, longest) } else { share * whole }
    dt = where(fine and not over, all_, 0.0)
    V = _fv_step(s, m, grid, t, U, dt, waves)
    # a sum has a number that is none, or no finite one, wherever it stands
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
# The least of what is to stay positive in all cells
_fv_least(s, m, U) = min(_fv_each(s, (...u) -> _fv_to_keep(s, m, list(...u)), U))

_fv_march(s, m, grid, times, U) = {
  rows = map(u -> { r = zeros(len(times), ...shape(u)); r[0] = u; r }, U)
  steps = 0
  reached = times[0]
  why = 0
  V = U
  for j in 1..len(times) {
    if why == 0 {
      (W, t, k, state) = _fv_to(s, m, grid, times[j - 1], times[j], V)
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

# Says why a march ended at the time `reached` with state U
_fv_failed(s, m, grid, U, reached, steps, why) = {
  begin = "fv() cannot go on from t = {reached:.6g}"
  if why == 1 {
    error(
      "fv() took {steps} steps to t = {reached:.6g} and may take no more: fewer cells, weaker diffusion, slower sources, or max_steps = ... in fv()")
  }
  help = if s.m == 1 {
    "Its equation, or a condition at an end, has no value there that is a number"
  } else {
    "A density or pressure has become negative, most likely: take reconstruct = \"muscl\" or \"first\", or say what must stay above 0 with positive = ..."
  }
  if why == 2 { error("{begin}: speeds of waves are no numbers there any more. {help}") }
  if kind(m.positive) != "none" {
    if why == 4 {
      v = ravel(_fv_each(s, (...u) -> _fv_to_keep(s, m, list(...u)), U))
      error(
        "{begin}: at {_fv_place(s, grid, argmin(v))} what is to stay positive falls to 0, however short the steps are")
    }
  }
  for (k, u) in enumerate(U) {
    bad = ravel(not (abs(u) < inf))
    if any(bad) {
      i = argmax(i64(bad))
      f = 0
      for j in list(...(0..len(s.first))) { if s.first[j] <= k { f = j } }
      error("{begin}: {s.info.fields[f]} is {ravel(u)[i]} at {_fv_place(s, grid, i)}. {help}")
    }
  }
}
# A cell, by its number in an array read row by row, as a place
_fv_place(s, grid, i) =
  _listed(map((c, k) -> "{s.info.coords[1 + k]} = {ravel(c)[i]:.6g}", grid.centres, list(...(0..s.dims))))

_solve_fv(info, m, o) = {
  why = _fv_why_not(info)
  if why != "" { _refuse(why) }
  _refuse_untold_jumps(info, m.name)
  s = _fv_system(info)
  for (k, f) in enumerate(info.fields) {
    for c in s.space {
      for side in (0, 1) {
        if len(_fv_conditions(s, k, c, side)) > 1 {
          _refuse("fv() takes at most one condition on {f} at each end of {info.coords[c]}")
        }
      }
    }
  }
  plain = _fv_grid(s, m)
  span = if kind(o.t) == "none" { (info.lo[0], info.hi[0]) } else { (f64(o.t[0]), f64(o.t[1])) }
  U = _fv_initial(s, plain)
  # what is below 0 at the beginning, as depths of dry land less a threshold are, stays above its least
  grid = (...plain, ..._fv_way(s, m, plain, span), rtol = o.rtol, atol = o.atol,
    least = if kind(m.positive) == "none" { 0.0 } else { min(0.0, _fv_least(s, m, U)) })
  _fv_check(s, m, grid, U)
  times = if len(o.saveat) > 0 { f64(o.saveat) } else { linspace(span[0], span[1], if s.dims == 1 { 51 } else { 11 }) }
  first = if len(o.saveat) > 0 and times[0] > span[0] { concat([f64(span[0])], times) } else { times }
  (rows, last, reached, steps, state) = _fv_march(s, m, grid, first, U)
  if state > 0 { _fv_failed(s, m, grid, last, reached, steps, state) }
  values = stack(...rows; axis = 1)
  kept = if len(first) == len(times) { values } else { values[1..] }
  (...record(info.fields, map(k -> _fv_function(s, m, grid, first, rows, k), list(...(0..len(info.fields))))),
    x = if s.dims == 1 {
      grid.axes[0]
    } else {
      grid.axes
    }, times = times, values = kept, stats = (steps = steps,), method = "fv", kind = "pde", error = none,
    info = (fields = info.fields, coords = info.coords, lo = info.lo, hi = info.hi, sizes = info.sizes, periodic = info.periodic))
}

# What the first state shows: coefficients of the rates, real speeds, what a flux wants
_fv_check(s, m, grid, U) = {
  zero = _fv_zero(s)
  bent = list(zero, zero, zero)
  # cells spread over the grid
  total = len(ravel(U[0]))
  some = i64(linspace(0, total - 1, min(total, 64)))
  X = map(c -> ravel(c)[some], grid.centres)
  V = map(u -> ravel(u)[some], U)
  d = s.dims
  state = a -> map(i -> a[d + i], s.all)
  point = a -> (s.info.lo[0], ...map(i -> a[i], list(...(0..d))))
  if not all(abs(stack(...V)) < inf) { error("fv(): an initial value is no finite number") }
  for k in list(...(0..len(s.info.fields))) {
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
        error("fv() wants {s.info.fields[k]}_t by itself with coefficient 1 in its equation: {q.text}")
      }
    }
  }
  if _fv_has(s, "quasi") { _fv_check_quasi(s, X, V) }
  for k in list(...(0..d)) { _fv_check_flux(s, m, k, X, V) }
}

_fv_check_quasi(s, X, V) = {
  d = s.dims
  state = a -> map(i -> a[d + i], s.all)
  point = a -> (s.info.lo[0], ...map(i -> a[i], list(...(0..d))))
  for k in list(...(0..d)) {
    one = map(i -> 1.0 + 0.3 * i, s.all)
    twice = map(v -> 2 * v, one)
    bend = map((...a) -> {
      p = _fv_quasi(s, k, point(a), state(a), one)
      q = _fv_quasi(s, k, point(a), state(a), twice)
      stack(...map(i -> abs(q[i] - 2 * p[i]), s.all))
    }, ...X, ...V)
    if not (max(bend) < 1e-9) {
      error("fv() wants first derivatives in space to stand linearly, as in a(u)*u_x, or under a derivative, as in ∂x(f(u))")
    }
    if s.m > 1 {
      change = map((...a) -> stack(...jvp(W -> _fv_quasi(s, k, point(a), W, one), state(a), twice)[1]), ...X, ...V)
      if not (max(abs(change)) < 1e-9) {
        error(
          "fv() finds the flux of a(u)*u_x for one field, or where a is constant; of a system of other form, write what is conserved: q_t + ∂x(f(q)) == s")
      }
    }
  }
}

# ---- solutions as functions

# A field at (t, x, ...): from the last time kept before t on by further steps, and in a cell by a parabola through its average and what is reconstructed at its faces.
_fv_function(s, m, grid, times, rows, k) = {
  size = s.info.sizes[k]
  at = t -> {
    before = max(0, min(len(times) - 1, sum(i64(times <= stop_gradient(t))) - 1))
    start = map(r -> r[before], rows)
    if t > times[before] {
      (U, reached, steps, why) = _fv_to(s, m, grid, times[before], t, start)
      if why > 0 { _fv_failed(s, m, grid, U, reached, steps, why) }
      U
    } else { start }
  }
  one = (t, X) -> {
    U = at(t)
    if size == 0 { _fv_value(s, m, grid, t, U, s.first[k], X) } else {
      stack(...map(i -> _fv_value(s, m, grid, t, U, s.first[k] + i, X), list(...(0..size))); axis = rank(X[0]))
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
        v = map((q, a, b) -> one(q, list(a, b)), ravel(both), ravel(xr + 0 * tr), ravel(yr + 0 * tr))
        reshape(v, ...shape(both), ...(if size == 0 { () } else { (size,) }))
      }
    }
  }
}

# f at arrays of any one shape
_fv_everywhere(f, args) =
  if rank(args[0]) == 0 { f(...args) } else { reshape(map(f, ...map(a -> ravel(a), args)), ...shape(args[0])) }

_fv_value(s, m, grid, t, U, i, X) = {
  # where second derivatives count, a parabola that has them
  how = if s.diffuses { (...m, reconstruct = "weno5") } else { m }
  g = if s.diffuses { 3 } else { grid.g }
  cells = list()
  inside = list()
  for k in list(...(0..s.dims)) {
    a = grid.lo[k]
    L = grid.hi[k] - a
    x = if grid.periodic[k] { a + (X[k] - a) - L * floor(stop_gradient((X[k] - a) / L)) } else { X[k] }
    c = clamp(i64(floor(stop_gradient((x - a) / grid.h[k]))), 0, grid.n[k] - 1)
    cells = push(cells, c)
    inside = push(inside, (x - a) / grid.h[k] - c - 0.5)
  }
  u = if s.dims == 1 { U[i][cells[0]] } else { U[i][cells[0], cells[1]] }
  value = u
  for k in list(...(0..s.dims)) {
    Q = _fv_padded(s, grid, k, g, t, U)[i]
    v = map(o -> {
      c = cells[k] + (g + o)
      if s.dims == 1 { Q[c] } else { if k == 0 { Q[c, cells[1]] } else { Q[cells[0], c] } }
    }, list(...(-g + 1..g)))
    z = inside[k]
    if how.reconstruct != "first" {
      left = _fv_everywhere((...w) -> _fv_edges(how, list(...w))[0], v)
      right = _fv_everywhere((...w) -> _fv_edges(how, list(...w))[1], v)
      value = value + (right - left) * z + (0.5 * (left + right) - u) * (6 * z^2 - 0.5)
    }
  }
  value
}
