# weak.dsl - weak form of a problem, derived from its equations on jet space.
#
# Method: each equation is F(t, x, u, ∇u, ∇²u) == 0 with F affine in the second
# derivatives. With A = ∂F/∂∇²u the flux is
#   q(x, u, p) = ∫₀¹ A(x, u, s p) p ds
# It satisfies ∂q/∂p = A wherever A is the derivative of a flux. Then F = div q
# + S with S(x, u, p) = F(x, u, p, 0) - ∂q/∂u · ∇u - ∂q/∂x, so that
#   ∫ F φ = ∫ S φ - q · ∇φ + ∮ q · n φ
# for every test function φ. The identity is proven from the code or checked at
# generic points of jet space; a problem without such a form is refused. Where a
# problem differentiates an expression that may jump (jump_fluxes.dsl), c ∂(f)
# is taken literally: c f belongs to q and -f ∂c to S.
#
# The problem is a record P:
# - info, d, nf: the problem's info, dimension, and number of fields
# - first: the first component of each field; nc: the number of all components
# - eqs: the index of each field's equation
# - orders: the element order of each component
# - eigen, name, lambda: whether it is an eigenproblem, the method's name, the
#   eigenvalue

_weak_problem(info, name, order) = {
  if len(info.space) < 1 or len(info.space) > 3 {
    _refuse(
      "{name}() solves problems in one to three space coordinates; {info.name} has "
      "{len(info.space)}")
  }
  eigen = info.eigen != ""
  nf = len(info.fields) - (if eigen { 1 } else { 0 })
  first = list()
  nc = 0
  for f in each(nf) { first = push(first, nc); nc = nc + max(1, info.sizes[f]) }
  for j in info.jets {
    space = 0
    for a in info.space { space = space + j[1 + a] }
    time = if info.time >= 0 { j[1 + info.time] } else { 0 }
    if space > 2 {
      _refuse(
        "{name}() serves derivatives in space of order 2; {info.name} has one of order {space} of "
        "{info.fields[j[0]]}: write the equation as a system")
    }
    if time > 1 {
      _refuse(
        "{name}() serves derivatives in t of order 1; {info.name} has one of order {time} of "
        "{info.fields[j[0]]}: write the equation as a system")
    }
    if time > 0 and space > 0 {
      _refuse(
        "{name}() does not serve mixed derivatives of t and space, as {info.name} has of "
        "{info.fields[j[0]]}")
    }
  }
  for a in info.space {
    if info.periodic[a] {
      _refuse("{name}() does not serve periodic coordinates; fourier() and fd() do")
    }
  }
  eqs = _matched_equations(info, name, nf)
  orders = list()
  for f in each(nf) {
    k = if _is_multiplier(info, eqs, f, nf) { order - 1 } else { order }
    if k < 1 {
      _refuse(
        "{info.fields[f]} of {info.name} is determined by an equation without it, and takes "
        "elements of one order less than the others: {name}(order = 2), which with continuous "
        "pressures of order 1 is Taylor and Hood's element")
    }
    for i in each(max(1, info.sizes[f])) { orders = push(orders, k) }
  }
  P = (info = info, d = len(info.space), nf = nf, first = first, nc = nc, eqs = eqs,
    orders = orders, eigen = eigen, name = name, lambda = 0.0)
  _refuse_told(P)
  P
}

# Returns for each field the equation that is tested with its functions: one
# with its time derivative, else one with its second derivatives, else one that
# contains it, else a remaining one.
_matched_equations(info, name, nf) = {
  left = each(nf)
  found = map(f -> -1, each(nf))
  for turn in each(nf) {
    best = -1
    (bf, bi) = (-1, -1)
    for f in each(nf) {
      if found[f] < 0 {
        for i in left {
          s = _affinity(info, i, f)
          if s > best { best = s; bf = f; bi = i }
        }
      }
    }
    if bf < 0 {
      _refuse(
        "{name}() finds no equation of {info.name} for every unknown: vector unknowns need vector "
        "equations of their size")
    }
    found[bf] = bi
    rest = list()
    for i in left { if i != bi { rest = push(rest, i) } }
    left = rest
  }
  found
}
_affinity(info, i, f) = if info.equations[i].rows != info.sizes[f] { -1 } else {
  s = 0
  for k in info.equations[i].jets {
    j = info.jets[k]
    if j[0] == f {
      space = 0
      for a in info.space { space = space + j[1 + a] }
      time = if info.time >= 0 { j[1 + info.time] } else { 0 }
      s = max(s, if time > 0 { 100 } else if space == 2 { 10 } else { 1 })
    }
  }
  s
}
# Whether the field's own equation does not contain it: a pressure, the
# multiplier of a divergence.
_is_multiplier(info, eqs, f, nf) = {
  own = false
  for k in info.equations[eqs[f]].jets { if info.jets[k][0] == f { own = true } }
  second = false
  for j in info.jets {
    space = 0
    for a in info.space { space = space + j[1 + a] }
    if j[0] == f and space == 2 { second = true }
  }
  not own and not second
}

# ---- jets

# Returns the jets. x f64[d]; z f64[nc, 1 + d], values and first derivatives; v
# f64[nc], rates; H f64[nc, d, d], second derivatives, with ∂a∂b at H[.., min,
# max].
_fem_jets(P, z, v, H, lambda) = map(j -> _fem_jet(P, j, z, v, H, lambda), list(...P.info.jets))
_fem_jet(P, j, z, v, H, lambda) = if j[0] >= P.nf { lambda } else {
  info = P.info
  axes = list()
  for (k, a) in enumerate(info.space) { for i in each(j[1 + a]) { axes = push(axes, k) } }
  time = if info.time >= 0 { j[1 + info.time] } else { 0 }
  c = P.first[j[0]]
  m = info.sizes[j[0]]
  whole = if time == 1 {
    v
  } else if len(axes) == 0 {
    z[.., 0]
  } else if len(axes) == 1 {
    z[.., 1 + axes[0]]
  } else {
    H[.., axes[0], axes[1]]
  }
  if m == 0 { whole[c] } else { whole[c..c + m] }
}
_fem_coords(P, t, x) = {
  out = list()
  k = 0
  for c in each(len(P.info.coords)) {
    if c == P.info.time { out = push(out, t) } else { out = push(out, x[k]); k = k + 1 }
  }
  (...out,)
}

# Returns the residuals of all equations at a point, in the order of the
# components that test them, without derivatives of expressions that may jump:
# f64[nc].
_fem_equations(P, t, x, z, v, H, lambda) = {
  at = _fem_coords(P, t, x)
  jets = _fem_jets(P, z, v, H, lambda)
  concat(...map(f -> {
    q = P.info.equations[P.eqs[f]]
    ravel(0.0 + (if len(q.fluxes) == 0 { q.residual(at, jets) } else {
      q.by_fluxes(at, jets, map(s -> 0.0 * _told_flux(s, at, jets), q.fluxes))
    }))
  }, each(P.nf)))
}
# Returns the operand of such a derivative; derivatives within it follow the
# rules of calculus.
_told_flux(s, at, jets) = s.f(at, jets, map(i -> i.slope(at, jets), s.inner)) + 0.0
# Returns c f of each such derivative at a point, with f constant: a list of
# (axis, function of x, z), each f64[nc].
_told_parts(P, t, x, z, v, lambda) = {
  out = list()
  (at0, jets0) = (_fem_coords(P, t, x), _fem_jets(P, z, v, zeros(P.nc, P.d, P.d), lambda))
  for f in each(P.nf) {
    q = P.info.equations[P.eqs[f]]
    if len(q.fluxes) > 0 {
      held = map(s -> _told_flux(s, at0, jets0), q.fluxes)
      (above, below) = (zeros(P.first[f]), zeros(P.nc - P.first[f] - max(1, P.info.sizes[f])))
      for s in q.fluxes {
        part = (x, z) -> {
          (at, jets) = (_fem_coords(P, t, x), _fem_jets(P, z, v, zeros(P.nc, P.d, P.d), lambda))
          concat(above, ravel(0.0 + s.factor(at, jets, map(a -> 0.0 * a, held), held)), below)
        }
        out = push(out, (axis = _axis_of(P, s.coord), part = part))
      }
    }
  }
  out
}
# Whether c ∂(f) can be integrated by parts as written.
_has_weak_form(s) = {
  fine = s.plain and s.order <= 2 and not s.deep
  for i in s.inner { fine = fine and not i.jumps }
  fine
}
_refuse_told(P) = {
  _refuse_deep_jumps(P.info, P.name)
  for q in P.info.equations {
    for s in q.fluxes {
      lost = s.order > 2
      for i in s.inner { lost = lost or i.jumps }
      # The flux would jump at each quadrature point when the state passes the
      # value there, and time steps would end at each.
      if P.info.time >= 0 and (s.state or len(s.inner) > 0) {
        _refuse(
          "what `{replace(s.text, "\n", " ")}` of {P.info.name} derives jumps with the unknowns, "
          "in steps of t at each of {P.name}()'s points by itself: fd() has fluxes through whole "
          "cells, on boxes")
      }
      if not s.plain or lost {
        (why, instead) = if lost { ("more than once", "fd() takes differences") } else {
          ("what stands before it may jump, too, or is another such derivative",
            "divide the equation by it, or take fd()")
        }
        _refuse(
          "`{replace(s.text, "\n", " ")}` of {P.info.name} derives what may jump, and {why}: "
          "{P.name}() has no weak form of this; {instead}")
      }
    }
  }
}

# ---- the form

_flux(P, rule, t, x, z, v, lambda) = {
  q = _smooth_flux(P, rule, t, x, z, v, lambda)
  for s in _told_parts(P, t, x, z, v, lambda) { q[.., s.axis] += s.part(x, z) }
  q
}
# Returns A(x, u, s p) p, summed over the nodes of the integral.
_smooth_flux(P, rule, t, x, z, v, lambda) = {
  zero = zeros(P.nc, P.d, P.d)
  total = zeros(P.nc, P.d)
  for (k, s) in enumerate(rule.s) {
    shrunk = concat(z[.., ..1], s * z[.., 1..]; axis = 1)
    along = a -> {
      T = zero
      for b in each(P.d) {
        T[.., min(a, b), max(a, b)] = (if a == b { 1.0 } else { 0.5 }) * z[.., 1 + b]
      }
      jvp(H -> _fem_equations(P, t, x, shrunk, v, H, lambda), zero, T)[1]
    }
    total = total + rule.w[k] * stack(...map(along, each(P.d)); axis = 1)
  }
  total
}

# Returns the remainder of F without ∂q: F(x, u, p, 0) - ∂q/∂u · ∇u - ∂q/∂x,
# f64[nc].
_smooth_source(P, rule, t, x, z, v, lambda) = {
  source = _fem_equations(P, t, x, z, v, zeros(P.nc, P.d, P.d), lambda)
  for a in each(P.d) {
    dz = concat(z[.., (1 + a)..(2 + a)], zeros(P.nc, P.d); axis = 1)
    (_, dq) = jvp(y -> _smooth_flux(P, rule, t, y[0], y[1], v, lambda), (x, z), (eye(P.d)[a], dz))
    source = source - dq[.., a]
  }
  source
}
# Returns S and -q at a point: f64[nc, 1 + d].
_weak_at(P, rule, t, x, z, v, lambda) = {
  source = _smooth_source(P, rule, t, x, z, v, lambda)
  for s in _told_parts(P, t, x, z, v, lambda) {
    dz = concat(z[.., (1 + s.axis)..(2 + s.axis)], zeros(P.nc, P.d); axis = 1)
    source = source - jvp(y -> s.part(y[0], y[1]), (x, z), (eye(P.d)[s.axis], dz))[1]
  }
  concat(expand(source, 1), -_flux(P, rule, t, x, z, v, lambda); axis = 1)
}

# Returns the nodes of that integral; one suffices where A does not depend on
# the first derivatives.
_path_nodes(n) = {
  n = _known(n, "the number of nodes")
  if n == 1 { (s = (1.0,), w = (1.0,)) } else {
    (x, w) = gauss_legendre(n; a = 0.0, b = 1.0)
    (s = (...map(k -> x[k], each(n)),), w = (...map(k -> w[k], each(n)),))
  }
}
# Returns what the code of the equations proves of the identity F = div q + S,
# for all values. "proven": affine in the second derivatives, with factors
# independent of first derivatives. "none": not affine in these. "open": the
# identity depends on the factors.
_form_of(P) = {
  info = P.info
  order = map(j -> {
    space = 0
    for a in info.space { space = space + j[1 + a] }
    space
  }, list(...info.jets))
  n = len(info.coords)
  form = "proven"
  for f in P.eqs {
    d = _residual_dependence(info, info.equations[f])
    for (i, k) in enumerate(order) {
      for (r, l) in enumerate(order) {
        if k == 2 and d.factors[n + i][n + r] {
          rate = if info.time >= 0 { info.jets[r][1 + info.time] > 0 } else { false }
          form = if l == 2 or rate {
            "none"
          } else if l == 1 and form == "proven" {
            "open"
          } else {
            form
          }
        }
      }
    }
  }
  form
}
# Returns the defect of the identity F = div q + S at points X f64[n, d] with
# generic values, relative to the size of F; NaN where F has no value there.
_form_defect(P, rule, t, X) = {
  n = len(X)
  (d, nc) = (P.d, P.nc)
  # Values that differ between points, the same in every run.
  some = (salt, form) -> reshape(mod(abs(_scrambled(iota(size(form)) + 1.0, salt)), 1.0) + 0.25,
    ...shape(form))
  Z = some(1.0, zeros(n, nc, 1 + d))
  V = some(2.0, zeros(n, nc))
  H = some(3.0, zeros(n, nc, d, d))
  one = (x, z, v, h) -> {
    F = _fem_equations(P, t, x, z, v, h, 1.5)
    whole = _smooth_source(P, rule, t, x, z, v, 1.5)
    for a in each(d) {
      rows = stack(...map(b -> h[.., min(a, b), max(a, b)], each(d)); axis = 1)
      dz = concat(z[.., (1 + a)..(2 + a)], rows; axis = 1)
      (_, dq) = jvp(y -> _smooth_flux(P, rule, t, y[0], y[1], v, 1.5), (x, z), (eye(d)[a], dz))
      whole = whole + dq[.., a]
    }
    stack(max(abs(F - whole)), 1 + max(abs(F)))
  }
  R = map(one, X, Z, V, H)
  max(R[.., 0] / R[.., 1])
}
