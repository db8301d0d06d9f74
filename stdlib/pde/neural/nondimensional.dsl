# nondimensional.dsl - nondimensionalisation of a problem for methods that need
# numbers near 1 (pinn): coordinates from 0 to 1, fields in units of their own
# size, equations and conditions in units of their largest terms.
#
# Needs: a problem on a box.
# Guarantees: the same problem in the variables x = origin + length ξ and u =
# shift + unit û, and the maps back. Where all numbers are near 1, the problem
# stays as it is, to the bit.
#
# Method: the scale of a field comes from its conditions. Otherwise it comes
# from a source, over the lengths of the domain or those on which the source
# changes, whichever are shorter. For a field without either (a pressure), its
# scale follows from dominant balance with terms of known scale.

# Returns the units of a problem: origin, length: of each coordinate; shift,
# unit: of each field; equations, conditions: the size of each; used: whether
# they are applied (known only at run time if parameters decide). said: for each
# field a list with the minimum and maximum of its measurements, or an empty
# one.
_units_of(info, said) = _now(() -> _units_found(info, said))
_units_found(info, said) = {
  n = len(info.fields)
  fields = each(n)
  waves = _wave_numbers(info)
  own = map(s -> _slot_size(info, waves, s), _slots(info))
  values = map(k -> _range_of(info, k, said[k]), fields)
  # Fields with a small relative variation are measured from their mean.
  shifts =
    map(v -> where(abs(v.least + v.most) > 3 * (v.most - v.least) and v.most > v.least,
      0.5 * (v.least + v.most), 0.0),
      values)
  known =
    map((v, c) -> where(c != 0, 0.5 * (v.most - v.least),
      where(v.most < v.least, 0.0, max(abs(v.least), abs(v.most)))), values,
      shifts)
  zero = map(k -> 0.0, fields)
  # Other kinds of conditions, then sources.
  by_conditions = _size_asked(info, info.conditions, own, shifts, zero)
  known = map((a, b) -> where(a > 0, a, b), known, by_conditions)
  by_source = _size_asked(info, info.equations, own, shifts, zero)
  known = map(max, known, by_source)
  # Balance with terms of known sizes.
  for turn in each(n) {
    known = map((a, b) -> where(a > 0, a, b), known,
      _size_asked(info, info.equations, own, shifts, known))
  }
  unit = map(u -> where(u > 0 and u < inf, u, 1.0), known)
  # Derivatives over the whole domain, as in nondimensionalisation by hand.
  plain = map(s -> _slot_size(info, map((a, b) -> 1 / (b - a), list(...info.lo), list(...info.hi)),
    s), _slots(info))
  equations = map(q -> _statement_size(info, q, plain, shifts, unit), list(...info.equations))
  conditions = map(q -> _statement_size(info, q, plain, shifts, unit), list(...info.conditions))
  odd = 0.0
  for u in unit { odd = odd + where(u < 0.01 or u > 100, 1.0, 0.0) }
  for (k, c) in enumerate(shifts) { odd = odd + where(abs(c) > 30 * unit[k], 1.0, 0.0) }
  for r in equations { odd = odd + where(r < 0.02 or r > 2e4, 1.0, 0.0) }
  used = stop_gradient(odd) > 0
  pick = (a, b) -> where(used, stop_gradient(a), b)
  (used = used, origin = map(a -> pick(a + 0.0, 0.0), list(...info.lo)),
    length = map((a, b) -> pick(b - a, 1.0), list(...info.lo), list(...info.hi)),
    shift = map(c -> pick(c, 0.0), shifts), unit = map(u -> pick(u, 1.0), unit),
    equations = map(r -> pick(r, 1.0), equations), conditions = map(r -> pick(r, 1.0), conditions))
}
_nothing_said(info) = map(k -> list(), list(...info.fields))
# Whether the units are known to be unused.
_stays(units) = if _is_fixed(units.used) { not units.used } else { false }

# Returns the problem in these units, with the fields `units` and `stated` (the
# original problem) added.
_in_units(info, units) = if _stays(units) { info } else {
  d = len(info.coords)
  (origin, length) = (units.origin, units.length)
  factor = map(j -> { f = units.unit[j[0]]; for i in each(d) { f = f / length[i]^j[1 + i] }; f },
    list(...info.jets))
  shift = map(j -> if _axes_of(j) == 0 { units.shift[j[0]] } else { 0.0 }, list(...info.jets))
  of = (q, size) -> {
    residual = q.residual
    (...q, at = _place_in_units(info, q.at, origin, length),
      residual = (X, jets) -> residual(map((x, a, l) -> a + l * x, X, (...origin,), (...length,)),
        map((v, f, c) -> c + f * v, jets, factor, shift)) / size)
  }
  inside = (v, i) -> (v - origin[i]) / length[i]
  (...info, lo = (...map(i -> inside(info.lo[i], i), each(d)),),
    hi = (...map(i -> inside(info.hi[i], i), each(d)),),
    equations = (...map(of, list(...info.equations), units.equations),),
    conditions = (...map(of, list(...info.conditions), units.conditions),), units = units,
    stated = info)
}
_place_in_units(info, at, origin, length) = if kind(at) != "record" { at } else {
  value = if at.coord >= 0 and kind(at.value) == "array" {
    (at.value - origin[at.coord]) / length[at.coord]
  } else {
    at.value
  }
  # Points of all coordinates, or of the space coordinates.
  point = if kind(at.point) == "tuple" {
    axes = _axes_of_point(info, at.point)
    (...map((v, i) -> (v - origin[i]) / length[i], list(...at.point), axes),)
  } else { at.point }
  (...at, value = value, point = point)
}

_axes_of_point(info, point) =
  map(i -> if len(point) == len(info.coords) or i < info.time { i } else { i + 1 },
    each(len(point)))

# Returns the original problem; _in_stated_units returns a network's function in
# the problem's coordinates and fields.
_as_stated(info) = if has(info, "units") { info.stated } else { info }
_in_stated_units(info, u) = if has(info, "units") {
  (origin, length, shift, unit) =
    (info.units.origin, info.units.length, _by_component(info, info.units.shift),
      _by_component(info, info.units.unit))
  (w, xs) -> shift + unit * u(w, map((x, a, l) -> (x - a) / l, xs, origin, length))
} else { u }
# Returns a guess, given in the problem's coordinates and fields, in units:
# functions, numbers or arrays.
_guess_in_units(info, guess) = if not has(info, "units") { guess } else {
  (origin, length, shift, unit) =
    (info.units.origin, info.units.length, info.units.shift, info.units.unit)
  (names, values) = (list(), list())
  for (k, name) in enumerate(list(...info.fields)) {
    if has(guess, name) {
      given = field(guess, name)
      (c, u) = (shift[k], unit[k])
      names = push(names, name)
      values = push(values,
        if kind(given) == "function" {
          (...xs) -> (given(...map((x, a, l) -> a + l * x, list(...xs), origin, length)) - c) / u
        } else {
          if kind(given) == "none" { none } else { (given - c) / u }
      })
    }
  }
  record(names, values)
}
# Returns the measured columns of the fields `seen` in units, with their
# coordinates, and their standard deviations.
_data_in_units(info, seen, data, sigma) = if not has(info, "units") { (data, sigma) } else {
  k_of = f -> _place_of(info.fields, f)
  columns = record((...info.coords, ...seen),
    (...map((x, a, l) -> (field(data, x) - a) / l, list(...info.coords), info.units.origin,
      info.units.length),
      ...map(f -> (field(data, f) - info.units.shift[k_of(f)]) / info.units.unit[k_of(f)], seen)))
  inside = if kind(sigma) == "none" { sigma } else {
    record((...seen,),
      (...map(f -> (if kind(sigma) == "record" { field(sigma, f) } else { sigma }) /
        info.units.unit[k_of(f)], seen),))
  }
  (columns, inside)
}
# Returns the units for explain.
_units_said(info) = if not has(info, "units") { record((), ()) } else {
  record(map(n -> "unit_of_{n}", list(...info.fields, ...info.coords)),
    map(u -> where(info.units.used, u, 0.0), list(...info.units.unit, ...info.units.length)))
}
_by_component(info, values) =
  concat(...map((s, v) -> zeros(max(1, s)) + v, list(...info.sizes), values))

# ---- estimates of sizes
# They use many places and finite differences. Where the problem has no
# parameters, they are computed at specialisation time (_now).

# Returns places of the box, or of a condition, as rows. They are dense enough
# to detect data in a small part of the box: equidistant with one free
# coordinate, quasi-random with more.
_size_places(info, q) = {
  d = len(info.coords)
  held = if kind(q.at) != "record" { list() } else if kind(q.at.point) == "tuple" {
    _axes_of_point(info, q.at.point)
  } else if q.at.coord < 0 { list() } else { list(q.at.coord) }
  # Powers of the root of x^(n+1) = x + 1 fill a box of n coordinates evenly
  # (Roberts 2018).
  n = max(1, d - len(held))
  base = 2.0
  for _ in each(30) { base = (1 + base)^(1 / (n + 1)) }
  i = iota(2048) + 0.5
  columns = list()
  free = 0
  for a in each(d) {
    at = -1
    for (k, h) in enumerate(held) { if h == a { at = k } }
    (lo, hi) = (info.lo[a] + 0.0, info.hi[a] + 0.0)
    columns = push(columns, if at >= 0 {
      0.0 * i + (if kind(q.at.point) == "tuple" { q.at.point[at] } else if q.at.side ==
        0 { lo } else if q.at.side == 1 {
          hi
        } else { q.at.value })
    } else {
      free = free + 1
      y = if n == 1 { i / 2048 } else { s = 0.5 + i * base^(-free); s - floor(s) }
      lo + (hi - lo) * y
    })
  }
  stack(...columns; axis = 1)
}
# Returns for each coordinate the inverse of the length over which the data
# change, at most half of the domain's.
_wave_numbers(info) = {
  zero = zeros(_slot_starts(info)[-1])
  waves = map((a, b) -> 2 / (b - a), list(...info.lo), list(...info.hi))
  for q in list(...info.equations, ...info.conditions) {
    face = if kind(q.at) == "record" { q.at.coord } else { -1 }
    X = _size_places(info, q)
    at = x -> _rows_at(info, list(q), x, zero)
    g = map(at, X)
    size = sum(_where_finite(g)^2)
    for i in each(len(info.coords)) {
      if i != face {
        h = 1e-4 * (info.hi[i] - info.lo[i])
        # Towards the middle, so that the place stays inside.
        aside =
          map(
            x -> at(_stepped_aside(x, i, if 2 * x[i] > info.lo[i] +
              info.hi[i] { x[i] - h } else { x[i] + h })), X)
        steep = sum(_where_finite(aside - g)^2) / h^2
        k = sqrt(steep / where(size > 0, size, 1.0))
        waves[i] = where(k > waves[i] and k < inf, k, waves[i])
      }
    }
  }
  waves
}
_stepped_aside(x, i, v) = stack(...map(k -> if k == i { v } else { x[k] }, each(len(x))))
# Replaces undefined values, such as 1/r at r = 0, by 0, so that they do not
# affect sizes.
_where_finite(v) = where(abs(v) < inf, v, 0.0)
_slot_size(info, waves, slot) =
  { s = 1.0; for i in each(len(waves)) { s = s * waves[i]^slot[1 + i] }; s }
_field_of_slot(info, slot) = {
  f = 0
  for k in each(len(info.fields)) { if slot[0] >= _first_component(info, k) { f = k } }
  f
}
# Returns the minimum and maximum of the values that conditions and measurements
# give a field; the maximum is below the minimum where there are none.
_range_of(info, k, said) = {
  (least, most) = (inf, -inf)
  if len(said) > 0 { least = said[0]; most = said[1] }
  for c in info.conditions {
    if _fixes(info, c) == 0 and info.jets[c.jets[0]][0] == k {
      v = map(x -> _value_wanted(info, c, _list_of(info, x)), _size_places(info, c))
      least = min(least, min(where(abs(v) < inf, v, inf)))
      most = max(most, max(where(abs(v) < inf, v, -inf)))
    }
  }
  (least = least, most = most)
}
# Returns, as maxima over the places, for fields of these sizes: for each row
# its size with the fields at their shifts, and a list of the contributions of
# each field's terms. A field of unknown size (0) is tried with the size
# `tried`.
_sizes_of(info, q, own, shifts, unit, tried) = {
  slots = _slots(info)
  (v0, whole, trial) = (list(), list(), list())
  for (i, s) in enumerate(slots) {
    k = _field_of_slot(info, s)
    sign = if cos(1.3 + 2.3 * i) > 0 { 1.0 } else { -1.0 }
    c = if _whole_order(s) == 0 { shifts[k] } else { 0.0 }
    v0 = push(v0, c)
    whole = push(whole, c + sign * own[i] * unit[k])
    trial = push(trial, where(unit[k] > 0, c, c + tried * own[i]))
  }
  X = _size_places(info, q)
  at = v -> map(x -> _rows_at(info, list(q), x, stack(...v)), X)
  S = max(_where_finite(abs(at(v0))))
  terms = map(k -> 0.0, list(...info.fields))
  r = at(whole)
  for (i, s) in enumerate(slots) {
    if _is_mentioned_in(info, q, i) {
      k = _field_of_slot(info, s)
      terms[k] = max(terms[k], max(_where_finite(abs(r - at(_replaced(whole, i, trial[i]))))))
    }
  }
  (S, terms)
}
_is_mentioned_in(info, q, i) = {
  starts = _slot_starts(info)
  found = false
  for j in list(...q.jets) { if starts[j] <= i and i < starts[j + 1] { found = true } }
  found
}
# Returns the size that makes each field's terms as large as the source of an
# equation and the terms of fields with known sizes; 0 where nothing determines
# it. Equations in which no other field has higher derivatives have priority
# over the others.
_size_asked(info, statements, own, shifts, unit) = {
  fields = each(len(info.fields))
  first = map(k -> 0.0, fields)
  any = map(k -> 0.0, fields)
  for q in list(...statements) {
    (S, terms) = _sizes_of(info, q, own, shifts, unit, 1.0)
    doubled = _sizes_of(info, q, own, shifts, unit, 2.0)[1]
    for k in fields {
      others = S
      for j in fields { if j != k { others = max(others, where(unit[j] > 0, terms[j], 0.0)) } }
      mine = terms[k]
      # The power with which a term of unknown size grows.
      ratio = where(mine > 0, doubled[k] / where(mine > 0, mine, 1.0), 2.0)
      grown = where(ratio < 16, log(max(min(ratio, 16.0), 1.2)) / log(2.0), 1.0)
      power = where(unit[k] > 0, 1.0, grown)
      asked =
        max(
          where(mine > 0, where(unit[k] > 0, unit[k], 1.0) *
            (others / where(mine > 0, mine, 1.0))^(1 / power), 0.0))
      asked = where(asked < inf, asked, 0.0)
      any[k] = max(any[k], asked)
      if _leads(info, q, k) { first[k] = max(first[k], asked) }
    }
  }
  map((a, b) -> where(a > 0, a, b), first, any)
}
_leads(info, q, k) = {
  (own, others) = (-1, -1)
  for i in list(...q.jets) {
    j = info.jets[i]
    o = _whole_order(j)
    if j[0] == k { own = max(own, o) } else { others = max(others, o) }
  }
  own >= others
}
_statement_size(info, q, own, shifts, unit) = {
  (S, terms) = _sizes_of(info, q, own, shifts, unit, 1.0)
  size = max(S)
  for t in terms { size = max(size, max(t)) }
  where(size > 0 and size < inf, size, 1.0)
}
