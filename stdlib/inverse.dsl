# inverse.dsl - parameters of a problem from data: fit(problem, data; for = ...).
#
# The model that is fitted is the solution itself, evaluated where something was measured; the Jacobian of the residuals by the parameters comes from the derivative of solve, whichever method it takes:
# sensitivities of the semi-discrete equations for the classical ones. A method that has a way of its own (a network, whose weights are unknowns like the parameters) says so by a field `fit`.

# What fit(problem, data; ...) does; o are the options that it was given.
_fit_problem(problem, data, o) = {
  if kind(data) != "record" { error("fit: the data of a problem are a record of columns: the coordinates and what was measured") }
  bound = if kind(o.start) == "none" { problem } else { problem(...o.start) }
  known = _parameters(bound)
  names = if kind(o.unknowns) == "none" { keys(known) } else { list(...o.unknowns) }
  if len(names) == 0 { error("fit: the problem has no parameters; write problem name(k) \{ ... \}") }
  wrong = _missing(names, known)
  if len(wrong) > 0 { error("fit: the problem has no parameter {wrong[0]}; it has {join(keys(known), ", ")}") }
  info = _problem_info(bound)
  seen = _measured(info.fields, data)
  if len(seen) == 0 { error("fit: the data have no column of an unknown, {join(list(...info.fields), " or ")}") }
  places = _measured(info.coords, data)
  unplaced = _missing(info.coords, data)
  if len(unplaced) > 0 { error("fit: the data have no column {unplaced[0]}, which is a coordinate of the problem") }
  method = o.by
  if kind(method) != "none" and has(method, "fit") { method.fit(bound, data, names, o) } else {
    at = map(name -> field(data, name) + 0.0, places)
    again = p -> bound(...(...known, ...p))
    answer = p -> solve(again(p), method; rtol = o.rtol, atol = o.atol, progress = false)
    model = (p, x) -> { s = answer(p); concat(...map(name -> ravel(field(s, name)(...x) + 0.0), seen)) }
    y = concat(...map(name -> ravel(field(data, name) + 0.0), seen))
    p0 = record(names, map(name -> _as_real(field(known, name)), names))
    f = fit(model, at, y, p0, o.method; sigma = _sigmas(o.sigma, seen, data), lower = o.lower, upper = o.upper, loss = o.loss,
      level = o.level, steps = o.steps, tol = o.tol, progress = o.progress)
    (...f.p, ...f, std = f.stderr, solution = answer(f.p))
  }
}
_missing(names, data) = {
  lost = list()
  for name in names { if not has(data, name) { lost = push(lost, name) } }
  lost
}
_as_real(p) = if kind(p) == "array" { p + 0.0 } else { p }
# Which of these names are columns of the data
_measured(names, data) = {
  found = list()
  for name in names { if has(data, name) { found = push(found, name) } }
  found
}
# Standard deviations for all columns behind each other: one number for all, or a record with a number or a column for each
_sigmas(sigma, seen, data) = if kind(sigma) == "record" {
  concat(...map(name -> ravel(field(sigma, name) + 0.0 * field(data, name)), seen))
} else { sigma }
