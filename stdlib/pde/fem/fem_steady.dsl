# fem_steady.dsl - finite elements for problems in space alone, R(U) = 0, by
# Newton's method.
#
# Method: one step for a linear problem, else Newton steps that are halved until
# the residual falls. Where they fail, continuation increases the strength of
# the nonlinear terms. The last step carries the derivatives of the solution by
# the implicit function theorem. A matrix for which rounding alone changes the
# solution is an error.

_fem_steady(P, D, m, o, start = none) = {
  first = if kind(start) != "none" {
    start
  } else if kind(o.guess) == "none" {
    zeros(D.total)
  } else {
    _guess_at_nodes(P, D, o.guess)
  }
  (U, stats) = _fem_values(P, D, m, first)
  _fem_solution(P, D, m, U, stats)
}
# Returns the values of all unknowns from initial ones, and the solver's
# statistics.
_fem_values(P, D, m, first) = {
  t = 0.0
  fixed = _fixed_values(P, D, t)
  fluxes = _fluxes(P, D, t)
  (number, free) = _free_unknowns(D, fixed)
  assert(len(free) > 0,
    "fem(): the conditions of {P.info.name} fix all values of this mesh; a finer one is needed")
  pattern = _pattern_of(P, D, fluxes, number, len(free))
  zero = zeros(D.total)
  start = _with_fixed(P, D, fixed, t, first)
  forms = U -> { (R, A) = _assembled(P, D, pattern, fluxes, t, 0.0, U, zero); (R[free], A) }
  add = (U, d) -> { U[free] += d; U }
  (R, A) = forms(start)
  _check_determined(P, D, number, A)
  S = _systems(P, D, m, A, free)
  (d, iterations) = _step_of(P, S, A, R)
  U = add(start, -d)
  (R1, _) = forms(U)
  # Where fixed values cancel in all equations, the free unknowns are 0.
  rounding = 1e-14 * max(abs(A.values)) * norm(U)
  (U, turns, iterations, response) =
    if norm(R1) <= 1e-12 * _size_of(A, U[free]) + rounding {
      (U, 1, iterations, _checked_factors(P, D, S, A, U, free))
    } else {
      _newton_fem(P, D, m, S, forms, add, free, start, U)
    }
  (U, (unknowns = len(free), cells = len(D.cells), newton = turns, iterations = iterations,
    response = response, linear = if S.iterates and iterations == 0 and S.method == "auto" {
      "sparse factors"
    } else {
      S.way
  }))
}
# Returns a guess at the nodes: a record of numbers, of functions of the
# coordinates, or a solution; 0 where it has no value.
_guess_at_nodes(P, D, guess) = {
  U = zeros(D.total)
  for f in each(P.nf) {
    name = P.info.fields[f]
    if has(guess, name) {
      g = field(guess, name)
      c0 = P.first[f]
      X = D.X[D.starts[c0]..D.starts[c0] + D.counts[c0]]
      v = if kind(g) == "function" { g(...map(k -> X[.., k], each(P.d))) } else { g }
      m = max(1, P.info.sizes[f])
      V = zeros(len(X), m) + (if P.info.sizes[f] == 0 { expand(v + zeros(len(X)), 1) } else { v })
      for i in each(m) {
        U[D.starts[c0 + i]..D.starts[c0 + i] + len(X)] = where(abs(V[.., i]) < inf, V[.., i], 0.0)
      }
    }
  }
  stop_gradient(U)
}
_size_of(A, u) = norm((...A, values = abs(A.values)) @ abs(u))

# Fails for a component without fixed values to which a constant may be added.
_check_determined(P, D, number, A) = {
  for f in each(P.nf) {
    for c in each(P.first[f], P.first[f] + max(1, P.info.sizes[f])) {
      on = number[D.starts[c]..D.starts[c] + D.counts[c]]
      if min(on) >= 0 {
        e = zeros(len(A.row_start) - 1)
        e[on] = 1.0
        if norm(A @ e) <= 1e-10 * _size_of(A, e) {
          error(
            "fem(): {P.info.fields[f]} of {P.info.name} is determined up to a constant only: say "
            "its value at one point of the mesh, {P.info.fields[f]} == 0 at a corner")
        }
      }
    }
  }
}

# Newton's method from U. Where it fails, continuation from the linear problem
# in the strength s of the nonlinearity, up to 1: R(0) + (R(s U) - R(0)) / s ==
# 0.
_newton_fem(P, D, m, S, forms, add, free, start, U) = {
  first = stop_gradient(U)
  solver = (A, R) -> _turn_of(P, D, m, S, A, R, free)
  (V, good, turns) = _newton_turns(forms, add, solver, free, first, 1.0, m.steps)
  if not good {
    (W, s, more) = _by_strength((V, s) -> _newton_turns(forms, add, solver, free, V, s, 12), first)
    V = W
    turns = turns + more
    if s < 1 {
      error(
        "fem(): Newton's method did not converge for {P.info.name}; with its nonlinear terms times "
        "{s:.3g} it did. A finer mesh may help, or there is no solution near")
    }
  }
  # A last step, from which alone derivatives of the solution follow.
  W = start
  W[free] = stop_gradient(V)[free]
  (R, A) = forms(W)
  systems = _systems(P, D, m, A, free)
  (d, iterations) = _step_of(P, systems, A, R)
  response = _checked_factors(P, D, systems, A, W, free)
  (add(W, -d), turns + 1, iterations, response)
}
# Returns the response of A (steady.dsl); fails where rounding alone changes the
# solution. With conjugate gradients it returns 0: another solve costs as much
# as the first, and they fail on singular systems anyway.
_checked_factors(P, D, S, A, U, free) = if S.iterates { 0.0 } else {
  size = stop_gradient(abs(U))
  most = concat(...map(c -> zeros(D.counts[c]) + max(size[D.starts[c]..D.starts[c] + D.counts[c]]),
    each(P.nc)))
  _primal(() -> {
    B = (...A, values = stop_gradient(A.values))
    if _moved_by_rounding(B, most[free]) > 1e-3 { error(_undetermined(P.info.name)) }
    max(abs(_correction(B, _some_loads(P, D)[free])))
  })
}
# Returns a fixed load vector, the same function on every mesh.
_some_loads(P, D) = {
  V = map(p -> abs(_det_inverse(_directions_of(p), P.d)[0]), D.corners)
  s = _local_starts(P)
  load = zeros(D.total)
  for c in each(P.nc) {
    X = D.X[D.starts[c]..D.starts[c] + D.counts[c]]
    (low, wide) = (min(X; axis = 0), max(X; axis = 0) - min(X; axis = 0))
    b = cos(((X - expand(low, 0)) / expand(wide, 0)) @ (1.3 + 0.8 * f64(iota(P.d))) + 0.7 * c)
    on = D.dofs[.., s[c]..s[c + 1]]
    load[ravel(on)] += ravel(expand(V / f64(shape(on)[1]), 1) + 0.0 * on) *
      b[ravel(on) - D.starts[c]]
  }
  load
}
_newton_turns(forms, add, solver, free, U, strength, steps) = {
  origin = if strength < 1 { forms(0 * U)[0] } else { 0 * U[free] }
  form = U -> { (R, A) = forms(strength * U); (origin + (R - origin) / strength, A) }
  (R, A) = form(U)
  e = norm(R)
  good = false
  k = 0
  stuck = not (e < inf)
  while k < steps and not good and not stuck {
    d = -solver(A, R)
    step = 1.0
    V = add(U, d)
    (R1, A1) = form(V)
    e1 = norm(R1)
    while not (e1 < (1 - 1e-4 * step) * e) and step > 1e-3 {
      step = 0.5 * step
      V = add(U, step * d)
      (R1, A1) = form(V)
      e1 = norm(R1)
    }
    stuck = not (e1 < e) and e > 1e-11 * _size_of(A, U[free])
    U = V
    R = R1
    A = A1
    e = e1
    good = e <= 1e-12 * _size_of(A, U[free]) or (step == 1.0 and norm(d) <= 1e-9 * norm(U[free]))
    k = k + 1
  }
  (U, good, k)
}
