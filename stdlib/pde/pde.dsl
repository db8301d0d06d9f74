# pde.dsl - solution of differential equation problems: solve, the choice of a
# method, explain, and the grid methods fd, chebyshev, fourier.
#
# Method: a problem provides, for each equation, a function on jet space (the
# fields and their derivatives at a point). A method evaluates it point by
# point, with derivatives from its own operators (grids.dsl). The exact Jacobian
# is the sum over jets of the function's partial derivatives times these
# operators (method_of_lines.dsl, steady.dsl).

# solve(problem, method; t, rtol, atol, saveat, partial, guess, start,
# estimate): the solution as a record with one function per field, of all
# coordinates in the order of the domains.
# Without a method, solve chooses one; explain(problem) shows which and why.
# guess, for a problem without time or for rfm() and pinn(): a record of numbers
# or functions for the fields, or a solution. solve(A, b) with a matrix is
# linsolve(A, b).
#   error is the estimated error of the solution, relative, in the root mean
#   square. On grids and on meshes that fem makes itself, it compares two more
#   solutions on coarser grids, which also show the observed order (Richardson
#   extrapolation). The error in time comes from one more solution in half the
#   steps or to a tenth of the tolerances. error_parts = (space, time) has both.
#   The estimate costs about as much as the solution itself on a line, less in
#   the plane. rfm and collocation estimate the error from one solution; pinn
#   reports the residual of its equations.
#   error of a problem in t alone is relative and compares a second solution, to
#   a tenth of the tolerances or in half the steps. That second solution costs
#   about one and a half times the first. The error is the root mean square over
#   the interval or, where larger, the error at the end. error of an
#   eigenproblem is the largest relative error of its eigenvalues; errors has
#   that of each.
#   The default atol is 1e-8; for a problem in t alone it is a millionth of the
#   initial state where that is less. estimate = false skips the estimate.
#   estimate = true also estimates the error on a given mesh, by refining all of
#   its cells. error is nan when another grid has no solution, none when it was
#   not estimated. Above 1 % (or rtol) solve warns; above 30 % it fails unless
#   partial = true.
#   start is a solution of a problem in the same coordinates, by any method,
#   also a loaded one. Its state at its end, or at the first of the times t =
#   (from, to), replaces the initial conditions.
# Every solution has method, settings (the method's arguments), info, times,
# values, stats, error, and text, the source of the problem, which is the same
# for all methods.
#     problem decay(k) {
#       domain t in [0, 1]
#       field u
#       u_t == -k*u
#       u == 1 at t = 0
#     }
#     s = solve(decay(2.0); rtol = 1e-9, atol = 1e-11);
#     s.u(1.0)                       #~ exp(-2) tol 1e-6
#     solve(decay(2.0), rk4(0.1)).error     #~ 6e-5 tol 2e-5
#     solve(decay(2.0); start = s, t = (1, 2), rtol = 1e-9).u(2.0)    #~ exp(-4) tol 1e-6
#     solve([2.0, 0; 0, 4], [2.0, 8])   #> [1, 2]
solve(problem, method = none; t = none, rtol = 1e-6, atol = none, saveat = [], progress = true,
  partial = false, guess = none, start = none, count = none, estimate = none) =
  {
    if kind(problem) == "function" {
      _refuse(
        "solve takes a problem, or a matrix and a right side; a zero of a function is found by "
        "root(f, x0)")
    }
    if kind(problem) == "array" or kind(problem) == "sparse" { linsolve(problem, method) } else {
      stated = _problem_info(problem)
      begun = if kind(start) == "none" { stated } else { _restarted(stated, start, t) }
      info = _with_ends_alike(begun, method)
      m = if kind(method) != "none" {
        method
      } else if kind(guess) == "none" and _has_linear_modes(info) {
        _choose_for_modes(info)
      } else if kind(guess) != "none" and _is_between(info) and not _has_jumps(info) {
        collocation()
      } else {
        _choose(info)
      }
      if len(info.events) > 0 and (len(info.coords) > 1 or not has(m, "integrate")) {
        _refuse(
          "{m.name}() does not serve the events of {info.name}: the integrators of initial value "
          "problems in one coordinate do, as auto() and bdf()")
      }
      if kind(guess) != "none" and not has(m, "between") and not has(m, "takes_guess") and
        not (has(m, "grid") and info.time < 0) {
        _refuse("{m.name}() does not begin with a guess; collocation() and shooting() do")
      }
      own = kind(atol) == "none" and len(info.coords) == 1 and has(m, "integrate")
      o = (t = if kind(start) == "none" { t } else { (info.lo[info.time], info.hi[info.time]) },
        rtol = rtol, atol = if kind(atol) == "none" and not own {
          _usual_atol(1e-8, rtol)
        } else {
          atol
        }, saveat = saveat, progress = progress,
        partial = partial, guess = guess, count = count, estimate = estimate,
        by_size = kind(atol) == "none")
      gone = _as_gone_through(info, m, o)
      (info, o) = (gone.info, gone.o)
      info = if has(m, "grid") and info.time >= 0 and kind(info.region) == "none" {
        (...info, ways = _ways_in(info))
      } else {
        info
      }
      _refuse_open_ends(info, m)
      s = m.solve(info, m, o)
      _check_seen(info, m, o, s)
      whole = if kind(s) == "record" and has(s, "info") {
        still = if info.eigen == "" { _unmoved_in_space(info) } else { 0.0 }
        (...s, ..._named_fields(info, s, still), text = info.text, settings = _settings(m))
      } else { s }
      # The method of a problem in t alone has already estimated and checked its
      # error.
      told = if len(info.coords) == 1 and has(m, "integrate") { whole } else {
        _judged_by_error(info, m, o, _with_error(info, m, o, whole))
      }
      if gone.turned { _turned_back(info, told) } else { told }
    }
  }

# Returns the fields of a solution, and its time derivatives where it has them.
# Each function, called without arguments, returns its description (used by
# solution_plot.dsl). Called with a wrong number of coordinates, it fails with
# the field's name.
_named_fields(info, s, still) = {
  (names, functions) = (list(), list())
  for f in list(...s.info.fields) {
    u = field(s, f)
    here = _field_says(info, s, f)
    names = push(names, f)
    # Fields of an eigenproblem are lists of functions, or the eigenvalues.
    functions =
      push(functions, if kind(u) ==
        "function" { _named_field(here, (...x) -> u(...x) + still) } else if kind(u) == "list" {
          map(v -> _named_field(here, v), u)
        } else { u })
    for level in each(1, 5) {
      rate = _derivative_name(f, info.coords[max(info.time, 0)], level)
      if has(s, rate) {
        names = push(names, rate)
        functions = push(functions, _named_field(_field_says(info, s, rate), field(s, rate)))
      }
    }
  }
  if has(s, "mode") {
    names = push(names, "mode")
    functions = push(functions, k -> {
      r = s.mode(k)
      (...r, ..._named_fields(info, (...r, info = (...s.info, fields = (...keys(r),))), still))
    })
  }
  record(names, functions)
}
# asked has one code for each coordinate. 1: the field is defined only between
# lo and hi. 2: it is periodic. 0: the field checks the point itself, as a
# region does by its mesh.
_field_says(info, s, label) =
  (label = label, coords = s.info.coords, lo = s.info.lo, hi = s.info.hi,
    mesh = if has(s, "mesh") { s.mesh } else { none },
    asked = map(i -> if info.periodic[i] { 2 } else if i != info.time and kind(info.region) !=
      "none" { 0 } else { 1 },
      (...(0..len(info.coords)),)))
_named_field(here, u) = (...point) -> if len(point) == 0 { here } else {
  if len(point) != len(here.coords) {
    _refuse("{here.label} is a function of ({join(here.coords, ", ")})")
  }
  u(...map(k -> {
    (x, lo, hi) = (f64(point[k]), here.lo[k], here.hi[k])
    if here.asked[k] == 0 {
      x
    } else if here.asked[k] == 1 {
      _known_at(here.coords[k], lo, hi, x)
    } else {
      x - (hi - lo) * floor(stop_gradient((x - lo) / (hi - lo)))
    }
  }, (...(0..len(point)),)))
}

# Returns the strings of a list with commas between. join() of strings made at
# run time counts as an effect, and a function called only for its value may not
# have effects.
_listed(texts) = {
  all_ = ""
  for (k, text) in enumerate(texts) { all_ = if k == 0 { text } else { "{all_}, {text}" } }
  all_
}

# Returns the arguments of a method that are numbers, strings or lists of them,
# and the name of a method inside it. A saved solution stores them.
_settings(m) = {
  (names, values_) = (list(), list())
  for k in list(...keys(m)) {
    v = field(m, k)
    plain = kind(v) == "array" or kind(v) == "string" or kind(v) == "tuple" or kind(v) == "list"
    if plain and k != "name" and k != "usual" and k != "chosen" and k != "takes_guess" {
      names = push(names, k);
      values_ = push(values_, v)
    }
    if kind(v) == "record" and has(v, "name") {
      names = push(names, k);
      values_ = push(values_, v.name)
    }
  }
  record(names, values_)
}

# Fails where a scalar first-order law has no condition at an end. Whether that
# end is an inflow depends on the state there, so fv() leaves it open; other
# methods need a condition.
_refuse_open_ends(info, m) =
  if info.time >= 0 and len(info.fields) == 1 and info.sizes[0] == 0 and m.name != "fv" {
    for i in info.space {
      told = info.periodic[i] or kind(info.region) != "none"
      for c in info.conditions { if c.at.coord == i { told = true } }
      if not told and _top_by(info, i) == 1 {
        mentioned = false
        for j in info.jets { if j[1 + i] > 0 { mentioned = true } }
        if mentioned {
          _refuse(
            "{info.name} is of first order in {info.coords[i]} and has no condition there; "
            "{m.name}() needs one where the solution enters, fv() lets ends without conditions be "
            "open")
        }
      }
    }
  }

_choose(info) = if _is_loop(info) and info.eigen == "" { fourier() } else if len(info.coords) == 1 {
  if not _is_between(info) or _begins_at_end(info) {
    auto()
  } else if _has_jumps(info) and len(info.space) == 1 {
    fd()
  } else if _is_plain_between(info) or len(info.space) == 0 { collocation() } else { chebyshev() }
} else {
  if _fv_suits(info) {
    fv(n = if len(info.coords) == 2 { 400 } else { 100 })
  } else if kind(info.region) != "none" {
    fem(order = 2)
  } else if _pressure_of(info).field >= 0 and not _any_is_periodic(info) {
    fem(order = 2)
  } else if _has_jumps(info) {
    if info.eigen == "" { fd(order = 2) } else { fem(order = 2) }
  } else if _has_modes_by_elements(info) {
    fem(order = 2)
  } else if _is_periodic(info) and info.eigen == "" {
    fourier()
  } else {
    fd(order = if _is_of_third_order(info) { 2 } else { 4 })
  }
}
# Whether this is an eigenproblem on a line whose modes are found without a
# guess.
_has_linear_modes(info) = if info.eigen == "" or len(info.coords) > 1 { false } else {
  told = false
  for c in info.conditions { if _tells_eigenvalue(info, c) { told = true } }
  _bends_in_modes(info) == "" and not told
}
# Chooses the method for such a problem: finite elements where a coefficient
# jumps (elements end there) or a weak form exists, else series. Rounding spoils
# the highest terms of a series when derivatives are high.
_choose_for_modes(info) = if _has_jumps(info) or _has_modes_by_elements(info) {
  fem(order = 3)
} else if _top_by(info, info.space[0]) > 2 {
  chebyshev(32)
} else {
  chebyshev()
}
# Whether an eigenproblem has coefficients that change where elements can end.
_has_modes_by_elements(info) =
  info.eigen != "" and not _any_is_periodic(info) and _is_of_even_orders(info) and
  _switches_in_space(info)
# Whether all equations have second derivatives in space and otherwise only
# values.
_is_of_even_orders(info) = {
  fine = true
  for q in info.equations[.._field_count(info)] {
    top = 0
    for i in q.jets {
      order = 0
      for c in info.space { order = order + info.jets[i][1 + c] }
      if order % 2 == 1 or order > 2 { fine = false }
      top = max(top, order)
    }
    if top == 0 { fine = false }
  }
  fine
}
# Whether this is a dispersive problem of third order in space. Between
# boundaries, differences of order above 2 and Chebyshev collocation are
# unstable for it.
_is_of_third_order(info) = info.type == "dispersive" and _top_by(info, info.space[0]) == 3
_is_periodic(info) = {
  all = true
  for i in info.space { if not info.periodic[i] { all = false } }
  all
}

_any_is_periodic(info) = {
  any = false
  for i in info.space { if info.periodic[i] { any = true } }
  any
}

# explain(problem): what solve would choose and why, as a string.
# explain(checkpoint(f; ...), x, ...): the loops of f that store checkpoints,
# and their cost: bytes, and the recompute factor (how often an iteration runs
# before it is differentiated). It also reports why a loop stores tapes instead.
# It runs f to count iterations, and f' must exist at x.
# explain(sparsity(f, x)): the number and kind of products that a sparse
# derivative takes. explain(solution): its method, that method's counters
# (stats), and the estimated error where there is one.
#     print(explain(sparsity(u -> u[1..] - u[..-1], zeros(100))))
#     #> 99 by 100, 198 elements: 2 products with the derivative
explain(subject, x = none, y = none, z = none) = if kind(subject) == "function" {
  args = if kind(x) == "none" {
    ()
  } else {
    if kind(y) == "none" { (x,) } else { if kind(z) == "none" { (x, y) } else { (x, y, z) } }
  }
  _explain_loops(_checkpoints(subject, ...args))
} else {
  if kind(subject) == "record" {
    if has(subject, "group_sizes") { _explain_pattern(subject) } else { _explain_solution(subject) }
  } else { _explain_problem(subject) }
}

# Describes a solution: its method, the method's counters, and the estimated
# error.
_explain_solution(s) = {
  if not has(s, "method") or not has(s, "stats") {
    error(
      "explain takes a problem, a solution, a function with its arguments, or a pattern that "
      "sparsity gave")
  }
  counts = list()
  for name in keys(s.stats) {
    n = field(s.stats, name)
    if kind(n) == "array" {
      if rank(n) == 0 {
        if n != 0 {
          counts =
            push(counts,
              "{replace(name, "_", " ")} "
              "{if f64(n) == floor(f64(n)) { str(i64(n)) } else { "{f64(n):.1e}" }}")
        }
      }
    }
  }
  text = if len(counts) == 0 {
    "solved by {s.method}"
  } else {
    "solved by {s.method}: {join(counts, ", ")}"
  }
  if has(s.stats, "linear") { text = "{text}; linear systems by {s.stats.linear}" }
  if has(s, "error") {
    if kind(s.error) == "none" { text } else { "{text}; estimated error {s.error:.1e}" }
  } else {
    text
  }
}

_explain_problem(problem) = {
  info = _problem_info(problem)
  if len(info.coords) == 1 {
    _explain_choice(info)
  } else {
    _explain_statement(info) + "\n" + _explain_choice(info)
  }
}
_explain_constraint(info) = {
  held = _constraint_of(info, info.time)
  if held.field < 0 { "" } else {
    ("; {info.fields[held.field]} is what keeps `{info.equations[held.equation].text}`, exactly in "
      "each wave")
  }
}
_explain_choice(info) = {
  if _has_linear_modes(info) {
    way = if _has_jumps(info) { "fem(order = 3), which takes the fluxes that jump" }
    else if _has_modes_by_elements(info) {
      "fem(order = 3), whose elements end where coefficients change"
    } else if _top_by(info, info.space[0]) > 2 { "chebyshev(32)" } else { "chebyshev()" }
    ("{info.name}: an eigenproblem on a line, so solve() takes {way}: the modes whose eigenvalues "
      "are nearest to 0. With a guess it takes collocation(), which finds the mode near that.")
  } else if _is_loop(info) and info.eigen == "" {
    ("{info.name}: {info.coords[0]} is periodic, so solve() takes fourier(): smooth periodic "
      "solutions converge exponentially; Newton's method finds the values at all points together.")
  } else if _has_jumps(info) and
    (len(info.coords) > 1 or (_is_between(info) and len(info.space) == 1)) and not _fv_suits(info) {
    _explain_jumps(info)
  } else if len(info.coords) == 1 and _is_between(info) and not _begins_at_end(info) {
    ("{info.name}: conditions at both ends of {info.coords[0]}, so solve() takes collocation(): "
      "piecewise cubics on a mesh that is fitted to the solution; collocation(6) and "
      "collocation(8) need fewer nodes for tight tolerances, shooting() integrates from guessed "
      "values.")
  } else if len(info.coords) == 1 {
    ("{info.name}: {len(info.fields)} unknown(s) in {info.coords[0]} only. solve() takes auto(): "
      "DOP853 where the problem is not stiff, Rodas5P with the exact Jacobian where it is (CVODE's "
      "BDF for more than 32 unknowns); bdf() where algebraic equations are among them.")
  } else {
    where_ = join((...map(i -> info.coords[i], info.space),), ", ")
    if _fv_suits(info) {
      _fv_explain(info)
    } else if kind(info.region) != "none" {
      ("{info.name}: on a region, so solve() takes fem(order = 2): quadratic finite elements on a "
        "mesh of triangles or tetrahedra. fd(), chebyshev() and fourier() serve boxes.")
    } else if _pressure_of(info).field >= 0 and not _any_is_periodic(info) {
      held = _pressure_of(info)
      ("{info.name}: `{info.equations[held.equation].text}` is kept by {info.fields[held.field]}, "
        "which is not in it, so solve() takes fem(order = 2): quadratic elements, and linear ones "
        "for {info.fields[held.field]} (Taylor and Hood's). On the grids of fd() and chebyshev() "
        "it has modes that no equation sees.")
    } else if _has_modes_by_elements(info) {
      ("{info.name}: an eigenproblem whose coefficients change at places where elements can end, "
        "so solve() takes fem(order = 2).")
    } else if _is_periodic(info) and info.eigen == "" {
      way = if info.time < 0 { "Newton's method" } else if _is_semilinear(info, info.time) {
        ("etdrk4(): the terms with constant factors exactly, wave by wave, the rest at the points; "
          "the step follows from rtol{_explain_constraint(info)}")
      } else {
        "bdf() with the exact Jacobian, since not all highest derivatives have constant factors"
      }
      ("{info.name}: periodic in {where_}, so solve() takes fourier(): smooth periodic solutions "
        "converge exponentially; {way}.")
    } else {
      way = if info.eigen != "" {
        "the eigenvalues nearest to 0 by shift and invert; fd(count = k, near = a) says others"
      } else if info.time >= 0 {
        if len(info.space) == 1 and (info.type == "hyperbolic" or info.type == "dispersive") {
          "Radau IIA in t with the exact sparse Jacobian, since waves keep BDF's steps short"
        } else {
          "BDF in t with the exact sparse Jacobian"
        }
      } else {
        ("Newton's method with the exact sparse Jacobian, or sines and waves where factors are "
          "constant and order = 2")
      }
      ("{info.name}: solve() takes fd(order = {if _is_of_third_order(info) { 2 } else { 4 }}), "
        "finite differences in {where_} on {(401, 81, 25)[len(info.space) - 1]} points each; "
        "{way}. {if _is_of_third_order(info) { "rfm()" } else { "chebyshev(n)" }} converges faster "
        "for "
        "smooth solutions{if len(info.space) == 1 and info.time >= 0 {
        ", pinn() trains a network on the same statement"
      } else { "" }}.")
    }
  }
}

# fd(n, order; cluster, time, count, near): finite differences of order 2, 4, 6
# or 8 on intervals and boxes of one to three dimensions.
#   n is the number of points in each coordinate, or one number for each.
#   cluster = (x0, w) concentrates points around x0 over a width w.
#   In t: BDF with the exact sparse Jacobian, or time, a method for ordinary
#   differential equations. Waves on a line use radau5, because BDF follows
#   oscillations with short steps only. IDA solves all equations together where
#   an equation has no time derivative, or one whose factor depends on t or an
#   unknown. It also does where a condition is not linear with factors constant
#   in t.
#   Without t: Newton's method with sparse factors, from solve's guess. With
#   constant factors, uniform points and order = 2, fast sine and Fourier
#   transforms solve the problem directly. An eigenproblem yields the count
#   eigenvalues nearest to near; the solution then has mode(k) beside the
#   values.
#   At boundaries, differences are one-sided. There order 8 is unstable for
#   waves and is refused; so are order 6 for waves of first order in space and
#   orders above 2 for third order.
#   Derivatives of expressions that may jump (docs/methods/problems.md) are flux
#   differences between neighbouring points, of order 2 whatever order is.
#   Errors: fewer points than the order needs; a pressure between boundaries,
#   which has spurious modes on one grid: use fem(order = 2).
#     problem heat() {
#       domain t in [0, 0.1], x in [0, 1]
#       field u
#       u_t == u_xx
#       u == sin(π*x) at t = 0
#       u == 0 at x = 0, x = 1
#     }
#     solve(heat(), fd(51, 4)).u(0.1, 0.5)   #~ exp(-0.1π^2) tol 1e-4
fd(n = none, order = 4; cluster = none, max_steps = 0, time = none, count = 6, near = 0.0) =
  (name = "fd", n = n, usual = (401, 81, 25), order = order, cluster = cluster,
    time = _usual_stepper(time, max_steps), chosen = kind(time) != "none", grid = _fd_grid,
    count = count, near = near, solve = _solve_grid, others = _grid_others)
# chebyshev(n; cluster, time, count, near): collocation in n + 1
# Chebyshev-Lobatto points of each coordinate, Fourier points in periodic ones.
#   The arguments are those of fd. Smooth solutions converge exponentially.
#     problem heat() {
#       domain t in [0, 0.1], x in [0, 1]
#       field u
#       u_t == u_xx
#       u == sin(π*x) at t = 0
#       u == 0 at x = 0, x = 1
#     }
#     solve(heat(), chebyshev(16); rtol = 1e-8, atol = 1e-10).u(0.1, 0.5)   #~ exp(-0.1π^2) tol 1e-6
chebyshev(n = none; cluster = none, max_steps = 0, time = none, count = 6, near = 0.0) =
  (name = "chebyshev", n = n, usual = (64, 32, 12), order = 0, cluster = cluster,
    time = _usual_stepper(time, max_steps), chosen = kind(time) != "none", grid = _chebyshev_grid,
    count = count, near = near, solve = _solve_grid, others = _grid_others)
# fourier(n; time, dealias, count, near): Fourier collocation for problems that
# are periodic in all space coordinates; n even points in each, or one number
# for each.
#   time = etdrk4() or cnab2(dt) steps in Fourier space. etdrk4() is the default
#   where all highest derivatives have constant factors; else bdf() with
#   differentiation matrices. A pressure whose gradient is in the rates, and
#   which div(v) == 0 determines, is solved mode by mode (in two and three
#   dimensions). Between boundaries use fem(). dealias = true keeps only the
#   lower two thirds of the Fourier modes (the 2/3 rule).
#     problem wave() {
#       domain t in [0, 1], x in [0, 2π] periodic
#       field u
#       u_t == -u_x
#       u == sin(x) at t = 0
#     }
#     solve(wave(), fourier(16); rtol = 1e-8, atol = 1e-10).u(1.0, 2.0)   #~ sin(1) tol 1e-6
fourier(n = none; time = none, dealias = false, max_steps = 0, count = 6, near = 0.0) =
  (name = "fourier", n = n, usual = (128, 64, 32), order = 0, cluster = none, step = time,
    time = bdf(max_steps = max_steps), chosen = false, dealias = dealias, grid = _fourier_grid,
    count = count, near = near, solve = _solve_fourier, others = _grid_others)
_usual_stepper(time, max_steps) =
  if kind(time) == "none" { bdf(max_steps = max_steps) } else { time }
