# compare.dsl - how far solutions of one problem agree with each other, or with a reference.

# compare(a, b, ...; reference, tol, nt, nx): relative L2 differences of solutions of one problem on a common grid of points, or of each against a
# reference (a function of (t, x), or of t). Prints a table; gives (agree, differences, worst).
#     problem decay() {
#       domain t in [0, 1]
#       field u
#       u_t == -u
#       u == 1 at t = 0
#     }
#     r = compare(solve(decay(), bdf()), solve(decay(), adams()); tol = 1e-3);
#     r.agree                        #> true
# compare(problem, a, b, ...; reference, tol): with the problem first, how right each solution is, of one or up to three: it is put into the equations and the conditions, compared with the others,
# and judged in words; verification.dsl says how. Gives (agree, verdict, residuals, conditions, differences, worst, at, faulty): at is where the first
# two are farthest apart, none of a single one; faulty the numbers of those to blame.
#     r = compare(decay(), solve(decay(), bdf()));
#     r.faulty                       #> []
compare(a, b, c = none, d = none; reference = none, tol = 1e-2, nt = 21, nx = 201) = if kind(a) == "problem" or _is_made(a) {
  _audit(a, _those(b, c, d), reference, tol)
} else {
  all = list(a, b)
  if kind(c) != "none" { all = push(all, c) }
  if kind(d) != "none" { all = push(all, d) }
  worst = 0.0
  differences = list()
  values = map(s -> _sample(s, a.info, nt, nx), all)
  if kind(reference) != "none" {
    exact = ravel(_sample_function(reference, a.info, nt, nx))
    print("relative L2 error against the reference")
    for (k, s) in enumerate(all) {
      e = norm(values[k] - exact) / norm(exact)
      print("  {s.method}  {e:.3e}")
      worst = max(worst, e)
      differences = push(differences, e)
    }
  } else {
    print("relative L2 difference")
    for (i, s) in enumerate(all) {
      for (j, r) in enumerate(all) {
        if i < j {
          e = norm(values[i] - values[j]) / max(1e-300, norm(values[j]))
          print("  {s.method} - {r.method}  {e:.3e}")
          worst = max(worst, e)
          differences = push(differences, e)
        }
      }
    }
  }
  (agree = worst <= tol, differences = differences, worst = worst)
}

_sample(s, info, nt, nx) = concat(...map(f -> ravel(_sample_function(field(s, f), info, nt, nx)), (...info.fields,)))
# Values on the product of nt times and nx points of the first space coordinate, or as many in all of the others.
_sample_function(f, info, nt, nx) = {
  time = _time_of(info)
  space = (..._space_of(info),)
  if len(space) == 0 { map(s -> f(s), linspace(info.lo[0], info.hi[0], nt)) } else {
    n = if len(space) == 1 { nx } else if len(space) == 2 { 31 } else { 11 }
    total = n^len(space)
    X = map(p -> {
      i = space[p]
      at = (iota(total) // n^(len(space) - 1 - p)) % n
      linspace(info.lo[i], info.hi[i], n)[at]
    }, (...(0..len(space)),))
    if time < 0 { f(...X) } else {
      points = t -> map(i -> if i == time { t } else { X[if i > time { i - 1 } else { i }] }, (...(0..len(info.coords)),))
      map(t -> f(...points(t)), linspace(info.lo[time], info.hi[time], nt))
    }
  }
}
