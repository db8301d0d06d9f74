# fv.dsl - finite volumes: conservation laws in one or two space dimensions, recognised from the statement, marched by explicit steps.
#
# What parser/problem_flux.c takes apart (the terms of each equation, as functions) becomes here a flux for each coordinate, what diffuses, and sources: functions of a point and of a state, which
# is a tuple of numbers, one for each scalar field and each component of a vector. Speeds of waves come from the derivative of the flux. fv_flux.dsl has numerical fluxes and reconstructions.
# Averages are kept one array for each number of the state, so that a step is arithmetic along them, and the whole march is one loop.

# fv(n; flux, reconstruct, limiter, cfl, steps, max_steps, positive): finite volumes in n cells (in 2-D n by n, or n = (nx, ny)), for q_t + ∂x(f(q)) + ∂y(g(q)) == s
#   flux: "rusanov", "hll", "hllc" (compressible flow: density, momenta, energy), "roe" (up to three unknowns), "godunov" (one unknown, f convex or concave).
#   reconstruct: "first" (order 1), "muscl" (2), "weno5" (Jiang and Shu) and "weno5z" (5 along each coordinate; 2 in 2-D unless f is linear). limiter, of muscl: "minmod", "vanleer", "superbee".
#   cfl: 0.8 of what is stable in first order when 0, shared among the coordinates; steps: "euler", "ssprk2", "ssprk3", by the reconstruction when "".
#   positive: none, or a function of the fields that gives what must stay above 0 in a cell (a number or a tuple): where a reconstructed value is not, the cell's own average is taken.
#   A coordinate is periodic, or has a condition on each field at either end: fields with values alone are what comes in, u_x == 0 or nothing lets out, values 0 beside u_x == 0 are a wall.
#   Second derivatives go by central differences, in explicit steps: short ones where diffusion is strong. The solution has x (centres of cells), values f64[times, numbers, cells].
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
        found = found + (if found == "" { "" } else { ", " }) + term.text
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
  first = false
  second = false
  rate = false
  more = false
  for j in jets {
    o = 0
    for k in list(...(1..len(info.coords))) { o = o + info.jets[j][1 + k] }
    if info.jets[j][1] > 0 { rate = true; if info.jets[j][1] > 1 or o > 0 { more = true } }
    if o == 1 { first = true }
    if o == 2 { second = true }
    if o > 2 { more = true }
  }
  (first = first, second = second, rate = rate, more = more)
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
  (info = info, m = m, dims = dims, space = list(...(1..(dims + 1))), first = first, rows = _fv_rows(info), diffuses = second,
    all = list(...(0..m)))
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
  if _fv_has(s, "quasi") {
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
  most = 0.0
  for i in s.all {
    sum_ = 0.0
    for j in s.all { sum_ = sum_ + rows[j][i] }
    most = max(most, sum_)
  }
  most
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

# The state j cells outside of an end where inside, j cells from it, is U: at point X on the end
_fv_outside(s, coord, side, whole, distance, X, U, last) = {
  zero = _fv_zero(s)
  bent = list(zero, zero, zero)
  values = map(k -> {
    q = _fv_conditions(s, k, coord, side)
    v = _fv_field(s, k, last)
    for c in q {
      size = max(1, s.info.sizes[k])
      one = map(i -> if i >= s.first[k] and i < s.first[k] + size { 1.0 } else { 0.0 }, s.all)
      none_ = _fv_none(s)
      rest = c.residual(X, _fv_jets(s, zero, none_, bent, zero))
      a = c.residual(X, _fv_jets(s, one, none_, bent, zero)) - rest
      if whole { v = -rest / a } else {
        b = c.residual(X, _fv_jets(s, zero, map(j -> if j == coord { one } else { zero }, s.space), bent, zero)) - rest
        out = if side == 0 { -1.0 } else { 1.0 }
        v = (-rest - _fv_field(s, k, U) * (0.5 * a - out * b / distance)) / (0.5 * a + out * b / distance)
      }
    }
    v
  }, list(...(0..len(s.info.fields))))
  map(v -> v + 0.0, _fv_numbers(s, values))
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

# Along each coordinate: averages with cells outside, and speeds in each cell and one more at each end: the largest one as it is without sign, or what hll wants, the smallest and the largest
_fv_waves(s, m, grid, t, U) = map(k -> {
  n = grid.n[k]
  g = grid.g
  P = _fv_padded(s, grid, k, g, t, U)
  x = map(c -> concat(_fv_cut(c, k, 0, 1), c, _fv_cut(c, k, n - 1, n); axis = k), grid.centres)
  c = _fv_each(s, (...a) -> {
    (low, high) = _fv_speeds(s, k, (t, ...map(i -> a[i], list(...(0..s.dims)))), map(i -> a[s.dims + i], s.all))
    if m.flux == "hll" { list(low, high) } else { list(max(-low, high)) }
  }, list(...x, ...map(p -> _fv_cut(p, k, g - 1, g + n + 1), P)))
  (P = P, speeds = c)
}, list(...(0..s.dims)))

# -(F(i+1/2) - F(i-1/2))/h along each coordinate, less what stands besides fluxes
_fv_rate(s, m, grid, t, U, waves) = {
  ks = list(...(0..s.dims))
  parts = map(k -> {
    n = grid.n[k]
    F = _fv_face_fluxes(s, m, grid, k, t, waves[k])
    map(i -> (_fv_cut(F[i], k, 0, n) - _fv_cut(F[i], k, 1, n + 1)) * (1 / grid.h[k]), s.all)
  }, ks)
  total = if s.dims == 1 { parts[0] } else { map(i -> parts[0][i] + parts[1][i], s.all) }
  if s.diffuses { D = _fv_diffusion(s, grid, t, U); total = map(i -> total[i] + D[i], s.all) } else {
    if _fv_has(s, "source") or _fv_has(s, "quasi") {
      zero = _fv_zero(s)
      R =
        _fv_each(s,
          (...a) -> _fv_rest(s, (t, ...map(i -> a[i], ks)), map(i -> a[s.dims + i], s.all), _fv_none(s), list(zero, zero, zero)),
          list(...grid.centres, ...U))
      total = map(i -> total[i] - R[i], s.all)
    }
  }
  total
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

# Steps per unit of time that stability asks for
_fv_pace(s, m, grid, t, U, waves) = {
  ks = list(...(0..s.dims))
  cfl = if m.cfl > 0 { m.cfl } else { 0.8 }
  total = 0.0
  for k in ks {
    c = waves[k].speeds
    total = total + max(if len(c) == 1 { c[0] } else { _fv_each(s, (a, b) -> max(-a, b), c) }) / (cfl * grid.h[k])
  }
  if s.diffuses {
    v = _fv_each(s, (...a) -> {
      q = 0.0
      for k in ks { q = q + 2 * _fv_spread(s, k, (t, ...map(i -> a[i], ks)), map(i -> a[s.dims + i], s.all)) / grid.h[k]^2 }
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
    m.reconstruct == "weno5z" { _fv_later(s, m, grid, t, U, waves) } else { _fv_waves(s, m, grid, t, U) })
  a = _fv_rate(s, m, grid, t, U, waves)
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

# From (t, U) to t1, in equal numbers of steps as stability has it; gives the state, steps taken and where they became impossible (or t1)
_fv_to(s, m, grid, t0, t1, U) = {
  t = t0
  steps = 0
  fine = true
  while t < t1 and fine {
    waves = _fv_waves(s, m, grid, t, U)
    pace = _fv_pace(s, m, grid, t, U, waves)
    left = t1 - t
    fine = where(pace < inf, where(pace >= 0, steps < m.max_steps, false), false)
    # no branch around the step, so that it is one piece with what came before: a step of no length is what nobody looks at
    dt = where(fine, where(pace * left <= 1, left, where(pace * left < 2, 0.5 * left, 1 / pace)), 0.0)
    U = _fv_step(s, m, grid, t, U, dt, waves)
    t = where(fine, where(pace * left <= 1, t1, t + dt), t)
    steps = steps + i64(fine)
  }
  (U, t, steps)
}

_fv_march(s, m, grid, times, U) = {
  rows = map(u -> { r = zeros(len(times), ...shape(u)); r[0] = u; r }, U)
  steps = 0
  reached = times[0]
  for j in 1..len(times) {
    if reached == times[j - 1] {
      (V, t, k) = _fv_to(s, m, grid, times[j - 1], times[j], U)
      U = V
      reached = t
      steps = steps + k
      rows = map(i -> { r = rows[i]; r[j] = V[i]; r }, s.all)
      progress(j, len(times) - 1; time = t)
    }
  }
  (rows, reached, steps)
}

_solve_fv(info, m, o) = {
  why = _fv_why_not(info)
  if why != "" { _refuse(why) }
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
  grid = _fv_grid(s, m)
  span = if kind(o.t) == "none" { (info.lo[0], info.hi[0]) } else { (f64(o.t[0]), f64(o.t[1])) }
  U = _fv_initial(s, grid)
  _fv_check(s, m, grid, U)
  times = if len(o.saveat) > 0 { f64(o.saveat) } else { linspace(span[0], span[1], if s.dims == 1 { 51 } else { 11 }) }
  first = if len(o.saveat) > 0 and times[0] > span[0] { concat([f64(span[0])], times) } else { times }
  (rows, reached, steps) = _fv_march(s, m, grid, first, U)
  if reached < first[-1] {
    if steps >= m.max_steps {
      error(
        "fv() took {steps} steps to t = {reached:.6g} and may take no more: fewer cells, weaker diffusion, or max_steps = ... in fv()")
    }
    error(
      "fv() cannot go on from t = {reached:.6g}: speeds of waves are no numbers there any more. A density or pressure has become negative, most likely: take reconstruct = \"muscl\" or \"first\", or say what must stay above 0 with positive = ...")
  }
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
    if t > times[before] { _fv_to(s, m, grid, times[before], t, start)[0] } else { start }
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
