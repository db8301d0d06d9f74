# roots.dsl - roots and fixed points: computed by iteration, differentiated by
# the implicit function theorem.
#
# If f(x, p) = 0 at x(p), then f_x dx + f_p dp = 0, whatever method found x. The
# derivative rule below uses this and depends on the zero only, so derivatives
# of every order follow. Each direction costs one linear system, a gradient one
# adjoint system.

# root(f, x0, method; tol, steps): x with f(x) = 0.
#   Scalar x0: Newton's method with a line search; if that fails, a bracket is
#   searched around x0. A pair (a, b) between which f changes sign: bracketing
#   (Chandrupatla 1997). A vector, matrix or record x0, with f of the same form:
#   Newton's method with a line search.
#   Stops when x moves by less than tol relative to |x|, or at rounding, when
#   steps are below tol relative to |x - x0|. It is an error when no zero is
#   found, as where f changes sign at a pole or a jump. method: kinsol(...) for
#   large systems: sparse or matrix-free, and other strategies; its own tol
#   refers to f.
#   Derivatives of every order are those of the solution with respect to values
#   that f captures; x0 has none.
#     root(x -> x^2 - 2, 1.0)        #~ sqrt(2)
#     root(cos, (1.0, 2.0))          #~ π/2
#     (p -> root(x -> x^2 - p, 1.0))'(4.0)   #~ 0.25
root(f, x0, method = none; tol = 1e-14, steps = 100) = {
  if kind(method) != "none" { _by_kinsol(f, x0, method, steps) } else { if kind(x0) == "tuple" {
    assert(len(x0) == 2, "root: a bracket is a pair of numbers (a, b)")
    _root_between(f, stop_gradient(x0[0] + 0.0), stop_gradient(x0[1] + 0.0), tol, steps)
  } else { if kind(x0) == "array" {
    if rank(x0) == 0 {
      _root_near(f, stop_gradient(x0 + 0.0), tol, steps)
    } else {
      if rank(x0) == 1 {
        _root_of_system(f, stop_gradient(x0 + 0.0), tol, steps)
      } else {
        _root_of_parts(f, x0, tol, steps)
      }
    }
  } else { _root_of_parts(f, x0, tol, steps) } } }
}
_root_of_parts(f, x0, tol, steps) = {
  (v, back) = flatten(x0)
  back(_root_of_system(w -> flatten(f(back(w)))[0], stop_gradient(v), tol, steps))
}

# fixed_point(g, x0, method; tol, steps, memory): x with g(x) = x, by Anderson
# acceleration with `memory` earlier steps (Walker and Ni 2011; 0: plain
# iteration).
#   x0 is an array or a record, and g has the same form. method: kinsol(...),
#   whose tol and memory then apply. Stops when g(x) - x is below tol relative
#   to |x|, or, when it stagnates, to |x - x0|. It is an error when that is not
#   reached.
#   Derivatives of every order are those of the solution with respect to values
#   that g captures, as in root; x0 has none.
#     fixed_point(cos, 1.0)          #~ 0.7390851332151607 tol 1e-10
fixed_point(g, x0, method = none; tol = 1e-13, steps = 500, memory = 5) = {
  if kind(method) != "none" {
    (v, back) = flatten(x0)
    back(_kinsol_fixed(w -> flatten(g(back(w)))[0], stop_gradient(v + 0.0), method, steps))
  } else if kind(x0) == "array" and rank(x0) == 1 {
    _fixed_vector(g, stop_gradient(x0 + 0.0), tol, steps, memory)
  } else {
    (v, back) = flatten(x0)
    back(_fixed_vector(w -> flatten(g(back(w)))[0], stop_gradient(v), tol, steps, memory))
  }
}

# implicit(f, x): x, computed by any method, as the zero of f near it. Its
# derivatives, of every order, are those of that zero with respect to values
# that f captures. x is a scalar, an array or a record, and f has the same form.
#     square_root(p) = implicit(x -> x^2 - p, sqrt(p))
#     square_root'(4.0)              #~ 0.25
implicit(f, x) = {
  if kind(x) == "array" and rank(x) == 0 {
    _zero_at(f, stop_gradient(x + 0.0))
  } else {
    if kind(x) == "array" and rank(x) == 1 { _zeros_at(f, stop_gradient(x + 0.0)) } else {
      (v, back) = flatten(x)
      back(_zeros_at(w -> flatten(f(back(w)))[0], stop_gradient(v)))
    }
  }
}
# A point between a and b where f is below `level`, or NaN. Golden section
# search for a minimum of f, with at most 62 evaluations.
_below(f, a, b, level) = {
  part = 0.6180339887498949
  (lo, hi) = (a, b)
  (p, q) = (b - part * (b - a), a + part * (b - a))
  (P, Q, turns) = (inf, inf, 0)
  while turns < 62 and not (P < level or Q < level) {
    lower = if turns < 2 { turns == 0 } else { P <= Q }
    if turns > 1 {
      if lower {
        (hi, q, Q) = (q, p, P)
        p = hi - part * (hi - lo)
      } else {
        (lo, p, P) = (p, q, Q)
        q = lo + part * (hi - lo)
      }
    }
    v = f(if lower { p } else { q })
    if lower { P = v } else { Q = v }
    turns = turns + 1
  }
  if P < level { p } else if Q < level { q } else { nan }
}
_zero_at(f, x) = x
derivative _zero_at(f, x), df, dx = _moved_zero(f, df, y)
_zeros_at(f, x) = x
derivative _zeros_at(f, x), df, dx = _moved_zeros(f, df, y)

# f_x dx = -f_p dp at a zero x; df(x) is f_p dp.
_moved_zero(f, df, x) = -df(x) / f'(x)
_moved_zeros(f, df, x) = -linsolve(_jacobian(f, x), df(x))

# ---- one equation

derivative _root_between(f, a, b, tol, steps), df, da, db, dtol, dsteps = _moved_zero(f, df, y)
# Chandrupatla, A new hybrid quadratic/bisection algorithm for finding the zero
# of a nonlinear function, Adv. Eng. Software 28 (1997): inverse quadratic
# interpolation when the last three points justify it, else bisection.
_root_between(f, a, b, tol, steps) = {
  if not (abs(a) < inf and abs(b) < inf) {
    error("root: a bracket is two finite numbers, not {a} and {b}")
  }
  fa = f(a)
  fb = f(b)
  if not (fa * fb <= 0 or (fa < 0 and fb > 0) or (fa > 0 and fb < 0)) {
    error("root: f does not change its sign between {a} and {b}, where it is {fa} and {fb}")
  }
  (below, above, extent) = (min(fa, fb), max(fa, fb), abs(b - a))
  x = if abs(fa) < abs(fb) { a } else { b }
  t = 0.5
  k = 0
  open = fa != 0 and fb != 0
  while open and k < 20 * steps {
    m = a + t * (b - a)
    fm = f(m)
    if not (fm == fm) { error("root: f is NaN at {m}") }
    # the last three points: m, the end of equal sign that it replaces, and the
    # end across the zero
    same_side = (fm > 0) == (fa > 0)
    c = if same_side { a } else { b }
    fc = if same_side { fa } else { fb }
    b = if same_side { b } else { a }
    fb = if same_side { fb } else { fa }
    a = m
    fa = fm
    best_a = abs(fa) < abs(fb)
    x = if best_a { a } else { b }
    width = abs(b - a)
    least = 0.5 * tol * (1e-300 + abs(x)) + 2.3e-16 * abs(x)
    open = fm != 0 and width > 2 * least
    xi = (a - b) / (c - b)
    phi = (fa - fb) / (fc - fb)
    trusted = phi^2 < xi and (1 - phi)^2 < 1 - xi
    t = if trusted {
      fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    } else {
      0.5
    }
    edge = min(0.5, least / max(1e-300, width))
    t = clamp(t, edge, 1 - edge)
    k = k + 1
  }
  if open { error("root: no convergence between {a} and {b} in {k} steps") }
  # a continuous f decreases towards a zero on at least one side
  if min(fa, fb) < 0.1 * below and max(fa, fb) > 0.1 * above and extent > 1e3 * abs(b - a) {
    error("root: f changes its sign at {x} by a jump or a pole: it is {fa} at {a} and {fb} at {b}")
  }
  x
}

derivative _root_near(f, x0, tol, steps), df, dx0, dtol, dsteps = _moved_zero(f, df, y)
_root_near(f, x0, tol, steps) = {
  x = x0
  v = f(x)
  k = 0
  state = if v == 0 { 1 } else { 0 }   # 1: found, 2: Newton's method stagnates
  # near relative to |x - x0|: holds for a zero next to 0 long before its digits
  # converge
  near = false
  while state == 0 and k < (if near { 20 * steps } else { steps }) {
    slope = jvp(f, x, zeros_like(x) + 1)[1]
    step = -v / slope
    if not (abs(step) < inf) { state = 2 } else {
      x1 = x + step
      v1 = f(x1)
      tries = 0
      while not (abs(v1) < abs(v)) and tries < 30 and abs(step) > tol * (abs(x) + abs(x - x0)) {
        step = 0.5 * step
        x1 = x + step
        v1 = f(x1)
        tries = tries + 1
      }
      better = abs(v1) < abs(v)
      near = abs(step) <= tol * (abs(x) + abs(x - x0))
      state = if v1 == 0 or abs(step) <= tol * abs(x1) or near and not better {
        1
      } else {
        if better { 0 } else { 2 }
      }
      if better { x = x1; v = v1 }
    }
    k = k + 1
  }
  if state == 1 or state == 0 and near { x } else { _root_around(f, x0, x, v, tol, steps) }
}
# Newton's method has failed: searches a sign change in growing intervals around
# the initial guess. Complex values have no sign.
_root_around(f, x0, x, v, tol, steps) = {
  if dtype(x0) == "c128" or dtype(x0) == "c64" {
    error("root: no convergence from {x0}; the last x was {x}, where f is {v}")
  } else {
    h = 1e-2 * (1 + abs(x0))
    a = x0
    b = x0
    fa = f(a)
    fb = fa
    k = 0
    while not (fa * fb <= 0) and k < 60 {
      a = x0 - h
      b = x0 + h
      fa = f(a)
      fb = f(b)
      f0 = f(x0)
      if f0 * fb <= 0 { a = x0; fa = f0 } else { if f0 * fa <= 0 { b = x0; fb = f0 } }
      h = 1.6 * h
      k = k + 1
    }
    if not (fa * fb <= 0) {
      error(
        "root: no convergence from {x0}: the last x was {x}, where f is {v}; give a pair (a, b) "
        "between which f changes its sign")
    }
    _root_between(f, a, b, tol, steps)
  }
}

# ---- systems

derivative _root_of_system(f, x0, tol, steps), df, dx0, dtol, dsteps = _moved_zeros(f, df, y)
_root_of_system(f, x0, tol, steps) = {
  x = x0
  v = f(x)
  if rank(v) != 1 or len(v) != len(x) {
    error("root: as many equations are wanted as there are unknowns, {len(x)}")
  }
  k = 0
  state = if norm(v) == 0 { 1 } else { 0 }
  step = inf
  near = false
  while state == 0 and k < (if near { 20 * steps } else { steps }) {
    J = _jacobian(f, x)
    d = try { -linsolve(J, v) } catch m { 0 * v + nan }
    if not (norm(d) < inf) { error("root: the Jacobian is singular, or not finite, at x = {x}") }
    t = 1.0
    x1 = x + d
    v1 = f(x1)
    tries = 0
    while not (norm(v1) < norm(v)) and tries < 40 and t * norm(d) > tol * (norm(x) + norm(x - x0)) {
      t = 0.5 * t
      x1 = x + t * d
      v1 = f(x1)
      tries = tries + 1
    }
    better = norm(v1) < norm(v)
    step = norm(d)
    # the zero is reached when the full step is at rounding, or when the last
    # digits make no difference
    near = step <= tol * (norm(x) + norm(x - x0))
    state = if norm(v1) == 0 or step <= tol * norm(x1) { 1 } else {
      if better { 0 } else { if step <= 1e-9 * (norm(x) + norm(x - x0)) { 1 } else { 2 } }
    }
    if better { x = x1; v = v1 }
    k = k + 1
  }
  if state == 2 or state == 0 and not near {
    error(
      "root: no convergence from the given start in {k} steps; at the last x the norm of f is "
      "{norm(v)}")
  }
  x
}

derivative _fixed_vector(g, x0, tol, steps, memory), dg, dx0, dtol, dsteps,
  dmemory = linsolve(eye(len(y)) - _jacobian(g, y), dg(y))
_fixed_vector(g, x0, tol, steps, memory) = {
  x = x0
  n = len(x)
  gx = g(x)
  if rank(gx) != 1 or len(gx) != n { error("fixed_point: g must give what it takes, {n} numbers") }
  f = gx - x
  m = max(1, min(memory, n))
  G = zeros(m, n)   # differences of g and of g(x) - x, the last m of them
  F = zeros(m, n)
  k = 0
  found = norm(f) <= tol * norm(x)
  near = found
  while not found and k < steps {
    x1 = if memory > 0 and k > 0 {
      # min |f - F' c|, slightly regularised for nearly dependent differences
      A = F @ F'
      c = linsolve(A + (1e-15 * trace(A) + 1e-300) * eye(m), F @ f)
      gx - c @ G
    } else { gx }
    g1 = g(x1)
    f1 = g1 - x1
    # a diverging acceleration is dropped
    wild = not (norm(f1) < 10 * norm(f)) and k > 0
    x1 = if wild { gx } else { x1 }
    if wild { g1 = g(x1); f1 = g1 - x1 }
    G = concat(reshape(g1 - gx, 1, n), G[..-1])
    F = concat(reshape(f1 - f, 1, n), F[..-1])
    falls = norm(f1) < 0.9 * norm(f)
    x = x1
    gx = g1
    f = f1
    k = k + 1
    near = norm(f) <= tol * (norm(x) + norm(x - x0))
    found = norm(f) <= tol * norm(x) or near and not falls
    if not (norm(f) < inf) { error("fixed_point: the iteration runs away after {k} steps") }
  }
  if not found and not near {
    error("fixed_point: no convergence in {k} steps; the norm of g(x) - x is {norm(f)}")
  }
  x
}
