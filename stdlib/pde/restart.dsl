# restart.dsl - initial conditions from another solution: solve(...; start = s).
#
# Method: the state of s replaces the initial conditions. For each field it has
# the value and the time derivatives below the field's order. The interval of t
# begins at the time of that state. The result is an ordinary problem, so every
# method can continue a solution of any method, on the same or another grid. At
# its own nodes a solution's function returns the node values, up to rounding.

# Returns the problem info with initial conditions from the solution s. Their
# time is the first of the times t, or the end of s where t is none.
_restarted(info, s, t) = {
  axis = info.time
  name = if axis < 0 { "t" } else { info.coords[axis] }
  if axis < 0 { _refuse("start is for problems in t; {info.name} has none, and takes a guess") }
  if kind(s) != "record" { _refuse("start is a solution, as solve gives it") }
  if not has(s, "info") or not has(s, "times") {
    _refuse("start is a solution, as solve gives it, and not any record")
  }
  if len(s.info.coords) != len(info.coords) {
    _refuse(
      "start is a solution in ({join(s.info.coords, ", ")}), and {info.name} has "
      "({join(info.coords, ", ")})")
  }
  for c in info.coords {
    if not contains(list(...s.info.coords), c) {
      _refuse("start is a solution in ({join(s.info.coords, ", ")}), and {info.name} has {c}")
    }
  }
  for c in info.conditions {
    if c.at.coord == axis and c.at.side == 1 {
      _refuse("start is for problems that begin with {name}; `{c.text}` stands at the end")
    }
  }
  # Solutions that are functions of t everywhere store no times.
  own = if len(s.times) == 0 {
    (f64(s.info.lo[axis]), f64(s.info.hi[axis]))
  } else {
    (f64(s.times[0]), f64(s.times[-1]))
  }
  span = if kind(t) == "none" { (own[1], f64(info.hi[axis])) } else { (f64(t[0]), f64(t[1])) }
  slack = 1e-9 * abs(own[1] - own[0])
  if span[0] < min(own[0], own[1]) - slack or span[0] > max(own[0], own[1]) + slack {
    error(
      "start: the solution is known for {name} from {own[0]:.9g} to {own[1]:.9g}, and does not say "
      "how things are at {span[0]:.9g}")
  }
  if kind(t) == "none" and span[0] >= span[1] {
    error(
      "start: the solution ends at {name} = {own[1]:.9g}, and the problem at {span[1]:.9g}: say "
      "with t = (from, to) how far to go")
  }
  conditions = list()
  for c in info.conditions { if c.at.coord != axis { conditions = push(conditions, c) } }
  for k in each(len(info.fields)) {
    for level in each(_order_of(info, k, axis)) {
      i = _jet_of_state(info, k, level, axis)
      value = _state_of(info, s, k, level, axis, span[0])
      conditions = push(conditions,
        (residual = (X, jets) -> jets[i] - value(X), jets = (i,), linear = (i,), nonlinear = (),
          at = (coord = axis, side = 0, value = span[0], name = "", point = none),
          rows = info.sizes[k], terms = none, solved = true,
          text = "{_state_name(info, k, level, axis)} as the solution before it ends"))
    }
  }
  put = (all, x) -> (...map(i -> if i == axis { x } else { all[i] }, each(len(info.coords))),)
  (...info, lo = put(info.lo, span[0]), hi = put(info.hi, span[1]), conditions = (...conditions,))
}
_state_name(info, k, level, axis) =
  if level == 0 {
    info.fields[k]
  } else {
    _derivative_name(info.fields[k], info.coords[axis], level)
  }

# Returns the index among the jets of the time derivative of field k of this
# order.
_jet_of_state(info, k, level, axis) = {
  at = -1
  for (i, j) in enumerate(info.jets) {
    same = j[0] == k
    for d in each(len(info.coords)) {
      same = same and j[1 + d] == (if d == axis { level } else { 0 })
    }
    if same { at = i }
  }
  if at < 0 {
    _refuse(
      "{info.name} says nothing of {_state_name(info, k, level, axis)} by itself, which a start "
      "gives: a condition at the beginning does")
  }
  at
}

# Returns a field of s, or its time derivative, at one time, as a function of a
# point X in the order of the problem's coordinates. Where the state of s
# contains the derivative, that is used.
_state_of(info, s, k, level, axis, time) = {
  name = _state_name(info, k, level, axis)
  kept = level > 0 and has(s, name)
  if not has(s, if kept { name } else { info.fields[k] }) {
    _refuse("start has no field {info.fields[k]}; it has {join(s.info.fields, ", ")}")
  }
  f = field(s, if kept { name } else { info.fields[k] })
  order = map(c -> _place_named(info.coords, c), list(...s.info.coords))
  at = (X, t) -> f(...map(i -> if i == axis { t } else { X[i] }, order))
  X -> if kept { at(X, time) } else { _time_derivative(t -> at(X, t), time, level) }
}
_place_named(names, name) = {
  at = 0
  for (i, n) in enumerate(names) { if n == name { at = i } }
  at
}
