# narrow_peaks.dsl - detection of narrow features of values that depend on one
# coordinate alone.
#
# A time step may pass over a pulse, and a grid over a narrow load, even where
# these are smooth and nothing is compared.
#
# Method: the values that depend on this coordinate alone (_clock_values) are
# sampled in 1000 parts of its span. Features narrower than such a part may be
# missed.

# The number of parts of a span.
_parts_seen = 1000

# Returns m with steps limited to half the width of the shortest spike in its
# integrands from t0 to t1. This holds for wide spikes too, since before one the
# rates may be almost zero. watched: t -> f64[k], the values that depend on the
# time alone; s: f64[n], the restarts. A method with fixed steps warns if they
# are longer. Cost: 2002 values of watched.
_seeing(m, watched, s, t0, t1) = if len(watched(t0)) == 0 { m } else {
  h = _longest_seeing(watched, s, t0, t1)
  if has(m, "finer") {
    if m.first_step > 2 * h { _warn_of_narrow(m.name, m.first_step, h) }
    m
  } else {
    h = h / _shorter(m)
    (...m, max_step = if has(m, "max_step") { min(f64(m.max_step), h) } else { h })
  }
}
# Returns the factor by which the longest step is shortened for error estimates,
# since tolerances do not shorten it.
_shorter(m) = if has(m, "shorter") { m.shorter } else { 1.0 }
_warn_of_narrow(name, step, h) =
  _warning(
    "the steps of {name}() are {step:.3g} long, and something in the problem lasts {2h:.3g}: steps "
    "of less than {h:.2g} see it")
# Returns the longest step, or inf.
_longest_seeing(watched, s, t0, t1) = if len(watched(t0)) == 0 { inf } else {
  0.5 / _parts_seen * stop_gradient(abs(t1 - t0)) *
    _now(() -> _primal(() -> _narrow(watched, s, t0 + 0.0, t1 + 0.0)).shortest)
}

# Returns where values of c are narrow between a and b: f64[n], ascending. A
# spike yields its ends and its peak, and with tails also where these vanish; a
# steep step its middle; a jump its place, to rounding. s as above; none of the
# results are at s.
_narrow_places(c, s, a, b, tails) = if len(c(a + 0.0)) == 0 { zeros(0) } else {
  _now(() -> {
    r = _primal(() -> _narrow(c, s, a + 0.0, b + 0.0))
    all = concat(r.places[..r.count], if tails { r.tails[..r.far] } else { zeros(0) })
    jumps = _primal(() -> _jumps_within(c, r.steep[..r.edges]))
    beside = map(t -> any(abs(jumps - t) < 1.5 / _parts_seen * abs(b - a)), all)
    all = sort(concat(all[not beside], jumps))
    all = all[all > concat([-inf], all)[..len(all)] + _beside(a, b) and all > a and all < b]
    if _is_fixed(len(s)) and len(s) == 0 { all } else {
      known = stop_gradient(s)
      all[map(t -> not any(abs(known - t) <= 2 * _beside(a, b)), all)]
    }
  })
}

# Returns where a narrow feature jumps within a part: f64[n].
_hidden_jumps(c, s, a, b) = {
  r = _narrow(c, s, a, b)
  _jumps_within(c, r.steep[..r.edges])
}
# Returns where elements of c jump within parts, each given as (element, start,
# end): f64[n, 3]. Places are exact to rounding; of several jumps in a part, the
# largest eight are found.
_jumps_within(c, parts: f64[n, 3]) = {
  out = zeros(0)
  for i in 0..n {
    of = t -> _seen_at(c, expand(t, 0))[0, i64(parts[i, 0])]
    least = 0.1 * abs(of(parts[i, 2]) - of(parts[i, 1]))
    (from, to, many, j) = (zeros(17) + parts[i, 1], zeros(17) + parts[i, 2], 1, 0)
    while j < many {
      (lo, hi, A, B) = (from[j], to[j], of(from[j]), of(to[j]))
      turns = 0
      while turns < 60 and abs(B - A) > least {
        middle = 0.5 * (lo + hi)
        v = of(middle)
        if abs(v - A) < abs(v - B) { lo = middle } else { hi = middle }
        turns = turns + 1
      }
      jumps = turns > 0 and abs(of(hi) - of(lo)) > 0.5 * least
      if jumps { out = push(out, 0.5 * (lo + hi)) }
      if jumps and many < 16 {
        to[many] = lo
        from[many] = from[j]
        from[many + 1] = hi
        to[many + 1] = to[j]
        many = many + 2
      }
      j = j + 1
    }
  }
  out
}

# Returns the restarts of an integration from a to b: f64[n], in the order from
# a to b. These are switches and, if requested, kinks of values that depend on
# the time alone (_breaks_along). Added are points across early pulses that even
# sampling would miss, and for adaptive steps across features of at most two
# samples. per_octave: see _early_pulses.
_restarts_along(clock, a, b, per_octave) = {
  s = _breaks_along(clock, a, b, false)
  s = if has(clock, "bends") { _with_bends(clock, s, a, b) } else { s }
  watched = clock.watched
  if len(watched(a + 0.0)) == 0 { s } else {
    s = if not has(clock, "hides") { s } else if not clock.hides(a + 0.0) { s } else {
      _with_breaks(s, _now(() -> _primal(() -> _hidden_jumps(watched, s, a + 0.0, b + 0.0))), a, b)
    }
    s = _with_breaks(s,
      _now(() -> _primal(() -> _early_pulses(watched, a + 0.0, b + 0.0, per_octave))), a, b)
    if per_octave > 1 {
      s
    } else {
      _with_breaks(s, _now(() -> _primal(() -> _lone_values(watched, a + 0.0, b + 0.0))), a, b)
    }
  }
}
# Returns ends of the parts between a and b where a value of c exceeds its
# neighbours two parts away by 0.3 of its range: at most 48 for each value, none
# if there are more. It uses loops, since for few values array operations cost
# more.
_lone_values(c, a, b) = {
  n = _parts_seen
  places = a + (b - a) * f64(iota(n + 1)) / n
  V = _seen_at(c, places)
  (found, count) = (zeros(64), 0)
  for k in 0..shape(V)[1] {
    (low, high) = (V[0, k], V[0, k])
    for i in 0..n + 1 { (low, high) = (min(low, V[i, k]), max(high, V[i, k])) }
    least = max(0.3 * (high - low), 1e-9 * max(abs(high), abs(low)))
    before = count
    for i in 2..n - 1 {
      v = V[i, k]
      lone = v - max(V[i - 2, k], V[i + 2, k]) > least or min(V[i - 2, k], V[i + 2, k]) - v > least
      if lone {
        if count < 64 { found[count] = places[i] }
        count = count + 1
      }
    }
    count = if count - before > 48 or count > 64 { before } else { count }
  }
  found = sort(found[..count])
  found[found > concat([-inf], found)[..len(found)]]
}
# Returns half the width at half maximum, to a factor of two, of the shortest of
# these features, or inf.
_shortest_lone(c, a, b) = {
  part = (b - a) / _parts_seen
  shortest = inf
  for t in _lone_values(c, a, b) {
    (top, beside) = (c(t), 0.5 * (c(t - 2 * part) + c(t + 2 * part)))
    d = part
    far = s -> abs(c(t + s) - beside) < 0.5 * abs(top - beside)
    for turn in 0..40 {
      d = if any(far(d) and far(-d) and abs(top - beside) > 0) { 0.5 * d } else { d }
    }
    shortest = min(shortest, abs(d))
  }
  shortest
}
# Whether values that depend on the time alone may jump or have kinks. An end of
# the interval may then be such a place, and the integration must not evaluate
# the other side.
_is_sharp(clock, t) = len(clock.compared(t)) > 0 or len(clock.tables(t)) > 0 or
  (if has(clock, "bends") { len(clock.bends(t)) > 0 } else { false })
# Returns per_octave for methods with fixed steps, and for adaptive ones: see
# below.
_parts_of_pulses(m) = if has(m, "finer") { 8 } else { 1 }
# Returns points across each pulse of c, f64[k], in the first 256th of the
# interval from a to b: its start, its end (at 1e-12 of its height), and between
# these and its peak `per_octave` points in each of seven octaves. per_octave is
# 1 for adaptive steps, else 8 or more. So a step after the pulse that is a
# million times as long includes nothing of it. c is sampled at eight places of
# each octave, down to 1e-12 of the interval. For each value the largest rise
# and the largest fall count if they return, have a millionth of the integral
# and are not one of many. Cost: 256 values of c.
_early_pulses(c, a, b, per_octave) = {
  way = 2^((iota(256) - 255) / 8.0) / 256
  w = _pulses_in(_seen_at(c, a + (b - a) * way), way, per_octave)
  # Far from 0 times are rounded, and steps between these points would be too.
  (at, near) = (abs(b - a) * w, 1e-10 * (abs(a) + abs(b - a) * w))
  a + (b - a) * w[_are_apart(at, near) and at > near]
}
# Returns the same for values V at fractions of the interval: fractions,
# ascending.
_pulses_in(V, way, per_octave) = {
  (starts, stops, out) = (zeros(0), zeros(0), zeros(0))
  # Most values do not exceed those at both ends.
  (most, least) = (max(V[0], V[-1]), min(V[0], V[-1]))
  rises = max(V; axis = 0) > most
  falls = min(V; axis = 0) < least
  for k in findall(rises or falls) {
    whole = sum(way * abs(V[.., k]))
    for up in list(true, false) {
      v = if up { V[.., k] } else { -V[.., k] }
      top = argmax(v)
      (low, high) = (min(v[..top + 1]), min(v[top..]))
      height = v[top] - max(low, high)
      if whole < inf and height * way[top] > 1e-6 * whole and len(starts) < 8 {
        above = v > v[top] - 0.5 * height
        often = sum(i64(above[1..] != above[..-1])) > 8
        (first, last) = (top, top)
        while v[first] - low > 1e-12 * height { first = first - 1 }
        while v[last] - high > 1e-12 * height { last = last + 1 }
        (from, to) = (way[first], way[last])
        if not often and
          not any(starts <= way[top] and stops >= way[top] and stops - starts <= 4 * (to - from)) {
          (starts, stops) = (push(starts, from), push(stops, to))
          w = 2^(-iota(7 * per_octave + 1) / f64(per_octave))
          out = concat(out, way[top] - w * (way[top] - from), way[top] + w * (to - way[top]))
        }
      }
    }
  }
  sort(out)
}

# Returns c at all places, f64[n, k]. Of more than 64 values it takes 64, evenly
# spaced, to bound memory.
_seen_at(c, places) = {
  k = len(c(places[0]))
  few = if _is_fixed(k) { k <= 64 } else { false }
  if few { map(t -> c(t), places) } else {
    many = min(k, 64)
    some = iota(many) * k // many
    V = zeros(len(places), many)
    for i in 0..len(places) { V[i] = c(places[i])[some] }
    V
  }
}
# Finds narrow changes: those that happen in less than an eighth of the parts.
# Changes with fewer than four parts between them are one. Known switches at s
# are removed; extra places on each side of s keep a spike at s visible. Result:
# - shortest: the width in parts of the shortest spike (of any width) or of two
#   successive narrow steps, or inf
# - places, count: three numbers for each of the first 64 narrow changes, and
#   how many numbers are valid
# - steep, edges: (element, start, end) of parts with a third of such a change,
#   and how many
# - tails, far: two numbers for each spike, where changes fall to a millionth of
#   the largest, and how many; the ends of a spike, at a hundredth, would omit a
#   thousandth of a Gaussian
_narrow(c, s, a, b) = {
  parts = _parts_seen
  (places, known) = _places_beside(s, a, b, parts)
  n = len(places) - 1
  part = abs(b - a) / parts
  V = _seen_at(c, places)
  # Changes below this are rounding.
  least = 1e-9 * max(where(abs(V) < inf, abs(V), 0.0))
  (shortest, count, found) = (inf, 0, zeros(192))
  (far, tails) = (0, zeros(128))
  (edges, steep) = (0, zeros(192, 3))
  for k in 0..shape(V)[1] {
    change = where(known, 0.0, V[1.., k] - V[..-1, k])
    v = V[0, k] + concat([0.0], cumsum(change))
    d = abs(change)
    top = max(d)
    changes = d > where(top < inf and top > least, 0.01 * top, inf)
    narrow = 8 * sum(i64(changes)) < n
    if any(changes) {
      # The present change, from part `first` to `last`; before: the start of
      # the previous one.
      (first, last, before) = (-1, -10, -n)
      (low, high, lowest, highest, steepest) = (0.0, 0.0, 0, 0, 0)
      for i in 0..n + 1 {
        on = i < n and changes[min(i, n - 1)]
        if first >= 0 and not on and (i - last > 4 or i == n) {
          (from, to) = (v[first], v[last + 1])
          (above, below) = (high - max(from, to), min(from, to) - low)
          spike = max(above, below) > 0.3 * (high - low)
          width = i -> max(1.0, abs(places[last + 1] - places[max(i, 0)]) / part)
          shortest = min(shortest, where(spike, width(first), inf))
          shortest =
            min(shortest, where(narrow and 8 * (last + 1 - before) < n, width(before), inf))
          if narrow and count + 3 <= len(found) {
            middle = 0.5 * (places[steepest] + places[steepest + 1])
            found[count] = where(spike, places[first], middle)
            found[count + 1] = where(spike, places[if above >= below { highest } else { lowest }],
              middle)
            found[count + 2] = where(spike, places[last + 1], middle)
            count = count + 3
            for e in first..last + 1 {
              if d[e] > 0.3 * (high - low) and edges < len(steep) {
                steep[edges] = stack(f64(k), places[e], places[e + 1])
                edges = edges + 1
              }
            }
            if spike {
              long = last + 1 - first
              (left, right) = (first, last + 1)
              while left > 0 and first - left < long and d[max(left - 1, 0)] > 1e-6 * top {
                left = left - 1
              }
              while right < n and right - last - 1 < long and d[min(right, n - 1)] > 1e-6 * top {
                right = right + 1
              }
              tails[far] = places[left]
              tails[far + 1] = places[right]
              far = far + 2
            }
          }
          before = first
          first = -1
        }
        if on {
          if first < 0 {
            (first, steepest, lowest, highest) = (i, i, i, i)
            (low, high) = (v[i], v[i])
          }
          last = i
          steepest = if d[i] > d[steepest] { i } else { steepest }
          w = v[i + 1]
          (lowest, low) = if w < low { (i + 1, w) } else { (lowest, low) }
          (highest, high) = if w > high { (i + 1, w) } else { (highest, high) }
        }
      }
    }
  }
  (shortest = shortest, places = found, count = count, tails = tails, far = far, steep = steep,
    edges = edges)
}
# Returns the distance at which a place between a and b, known to rounding, is
# evaluated on its sides.
_beside(a, b) = 1e-9 * abs(b - a) + 1e-14 * (abs(a) + abs(b))
# Returns the ends of the parts between a and b together with places on both
# sides of s, and which of the resulting parts are at s.
_places_beside(s, a, b, parts) = {
  even = a + (b - a) * f64(iota(parts + 1)) / parts
  if len(s) == 0 { (even, zeros(len(even) - 1) > 1) } else {
    near = _beside(a, b)
    at = stop_gradient(s)
    beside = concat(at - near, at + near)
    beside = beside[beside > min(a, b) and beside < max(a, b)]
    places = where(b < a, -1.0, 1.0) * sort(where(b < a, -1.0, 1.0) * concat(even, beside))
    (places, map(t -> any(abs(at - t) <= 1.5 * near), 0.5 * (places[1..] + places[..-1])))
  }
}
