# sde.dsl - stochastic differential equations dx = f(t, x) dt + g(t, x) dW, in
# the Itô or Stratonovich sense, on Brownian paths that are functions of a seed.
#
# Method: a path is a binary tree over the interval. Each cell has the increment
# of W and its first moment H. Splitting a cell draws both for the halves,
# conditional on those of the whole. The random bits depend only on the seed and
# the cell's position in the tree, so a path does not depend on the steps.
# Nothing is stored but the second halves that come later. Steps are cells; a
# rejected cell is split.
#
# Sources: J. Foster, T. Lyons and H. Oberhauser, An optimal polynomial
# approximation of Brownian motion, SIAM J. Numer. Anal. 58 (2020) 1393-1421 (W
# and H jointly; the split follows from the covariances, see _halves). C.
# Rackauckas and Q. Nie, Discrete Contin. Dyn. Syst. B 22 (2017) 2731-2761
# (bridges after a rejected step).

# sde(f, g, x0, (t0, t1); noise, calculus, method, rtol, atol, saveat, seed):
# solves dx = f(t, x) dt + g(t, x) dW from x(t0) = x0, x0 f64[n], t1 after t0.
#   g returns f64[n], one Wiener process for each unknown (noise = "diagonal")
#   or one for all (noise = "scalar"), or f64[n, m], m processes ("general").
#   calculus: "ito" or "stratonovich". method: sri(), milstein(h),
#   euler_maruyama(h), heun(h). rtol, atol: the error tolerance of a step of
#   sri(). saveat: the times of the result; by default all steps. Steps end
#   where f and g switch by t, and derivatives move with these times.
#   seed: an integer that identifies the path, by default random. The path is
#   the same for the same interval and number of processes, whatever the method,
#   steps and saveat.
#   The result is a record: times; values f64[k, n]; W f64[k, m], the path at
#   these times; y, a function of t, linear between the rows; stats; method;
#   seed. Errors report the time and the last values.
#   Derivatives of every order with respect to x0 and values that f and g
#   capture are those of the steps along the fixed path. Those with respect to
#   t0, t1 and saveat hold the path's normal variates fixed: the path is
#   stretched between consecutive times, because it has no derivative itself.
#   They are correct for expectations of values at these times, and equal the
#   usual ones for dx/dt = f.
#     s = sde((t, x) -> 1.5x, (t, x) -> 0.8x, [1.0], (0.0, 1.0); method = sri(0.001), seed = 7, saveat = [0.5, 1.0]);
#     s.values[.., 0]                  #~ exp((1.5 - 0.32) * [0.5, 1.0] + 0.8 * s.W[.., 0]) tol 1e-3
sde(f, g, x0, span; noise = none, calculus = "ito", method = sri(), rtol = 1e-3, atol = 1e-6,
  saveat = none, seed = none) = {
  x = f64(x0)
  t0 = f64(span[0])
  t1 = f64(span[1])
  if rank(x) != 1 { _refuse("x0 of a stochastic differential equation is a vector") }
  if not (t1 > t0) or not (abs(t0) < inf and abs(t1) < inf) {
    error("a stochastic differential equation goes forward in time, not from {t0} to {t1}")
  }
  first = g(t0, x)
  way = _noise_of(noise, first)
  if len(first) != len(x) {
    error("the noise of {len(x)} unknowns has as many rows, not {len(first)}")
  }
  if shape(f(t0, x)) != (len(x),) { _refuse("the drift gives a number for each unknown") }
  kinds = if calculus == "ito" {
    0
  } else if calculus == "stratonovich" {
    1
  } else {
    _refuse("calculus is \"ito\" or \"stratonovich\", not \"{calculus}\"")
  }
  drift = if (if method.sense == "ito" { 0 } else { 1 }) == kinds { f } else {
    c = if kinds == 1 { 0.5 } else { -0.5 }
    (t, x) -> f(t, x) + c * _twist(g, way, t, x)
  }
  m = if way == "diagonal" { len(x) } else if way == "scalar" { 1 } else { shape(first)[1] }
  key = if kind(seed) == "none" { i64(floor(9007199254740992.0 * rand())) } else { i64(seed) }
  method.check(method, g, way, t0, x)
  method = _seeing_on_path(method, f, g, x, t0, t1)
  x = x + method.firm
  areas = if method.areas and way == "general" { _is_twisted(g, t0, x) } else { false }
  one = method.step(drift, g, way,
    (rtol = f64(rtol), atol = _atol_for(x, f64(atol)), measured = method.adaptive, areas = areas,
      crossed = if method.adaptive { _jumps_near(f, g) } else { none }))
  wanted = if kind(saveat) == "none" { zeros(0) } else { _moving_times(f64(saveat), t0) }
  _along_path(method, one, x, t0, t1, wanted, _path(key, m, stop_gradient(t1 - t0)))
}
# m with longest, the longest step that resolves narrow features, or none; and
# breaks, f64[n], the times where f and g restart and steps end. Equal steps
# that are too long give a warning.
_seeing_on_path(m, f, g, x, t0, t1) = {
  both = (t, y) -> concat(ravel(f(t, y) + 0.0), ravel(g(t, y) + 0.0))
  clock =
    (compared = t -> _clock_switches(both, t, x), watched = t -> _watched(both, t, x),
      tables = t -> _clock_tables(both, t, x), bends = t -> _clock_bends(both, t, x),
      hides = t -> _hides_switches(both, t, x), firm = t -> _firm_rate(both, t, x))
  s = _restarts_along(clock, t0, t1, if m.adaptive { 1 } else { 8 })
  longest = _longest_seeing(clock.watched, stop_gradient(s), t0, t1)
  if not m.adaptive { if m.h > 2 * longest { _warn_of_narrow(m.name, m.h, longest) } }
  (...m, longest = if len(clock.watched(t0)) == 0 { none } else { longest }, breaks = s,
    firm = clock.firm(t0))
}
# Whether a step of length h could miss a narrow feature.
_steps_over(m, h) = if kind(m.longest) == "none" or not m.adaptive { false } else { h > m.longest }
# The path between two equal times cannot be stretched.
_moving_times(saveat, t0) = 1 * saveat
derivative _moving_times(saveat, t0), ds, dt0 = {
  if not _absent(ds) {
    if min(saveat - concat(expand(t0, 0), saveat[..-1])) <= 0 {
      error(
        "sde has a derivative by saveat only where no two of these times are the same, and none is "
        "the beginning: between them the path is stretched; stop_gradient(saveat) holds times "
        "fixed")
    }
  }
  ds
}

# brownian((t0, t1); seed, n): the path of the n Wiener processes that sde uses
# with this seed, as a function of t: f64[n], 0 at t0
#     W = brownian((0.0, 1.0); seed = 3);
#     s = sde((t, x) -> 0*x, (t, x) -> 1 + 0*x, [0.0], (0.0, 1.0); method = euler_maruyama(0.1), seed = 3);
#     W(0.5)                           #~ s.y(0.5) tol 1e-12
brownian(span; seed = none, n = 1) = {
  key = if kind(seed) == "none" { i64(floor(9007199254740992.0 * rand())) } else { i64(seed) }
  (t0, t1) = (f64(span[0]), f64(span[1]))
  if not (t1 > t0) { error("a Brownian path goes forward in time, not from {t0} to {t1}") }
  p = _path(key, n, t1 - t0)
  (W, H) = _whole(p)
  t -> {
    if not (t >= t0 and t <= t1) { error("the path goes from {t0} to {t1}; t = {t} is outside") }
    if t == t1 { W } else { _path_part(p, 1, 0, t1 - t0, W, H, t - t0)[0] }
  }
}

# ---- methods: records with the fields
#   sense    "ito" or "stratonovich": the equation that the steps solve
#   adaptive steps by rtol and atol; else equal steps of at most h, their number
#            a power of two
#   check    (m, g, noise, t, x), which refuses noise that the method does not
#            support
#   areas    whether the step needs Lévy areas when the noise does not commute
#            (o.areas)
#   step     (f, g, noise, o) -> (t, x, h, W, H, area) -> (x at t + h, the error
#            relative to the tolerance); area(): the antisymmetric matrix of
#            Lévy areas

# euler_maruyama(h): the Euler-Maruyama method x + f h + g ΔW in equal steps of
# at most h. Strong order 1/2 (1 if g does not depend on x), weak order 1, for
# all noise.
#   [G. Maruyama, Rend. Circ. Mat. Palermo 4 (1955) 48-90]
#     sde((t, x) -> -x, (t, x) -> 0*x, [1.0], (0.0, 1.0); method = euler_maruyama(0.5)).values[-1]   #> [0.25]
euler_maruyama(h; max_steps = 0) =
  (name = "euler_maruyama", sense = "ito", adaptive = false, h = f64(h), max_steps = max_steps,
    areas = false, check = _any_noise, step = _by_maruyama)
_by_maruyama(f, g, way, o) =
  (t, x, h, W, H, area) -> (x + h * f(t, x) + _along(way, g(t, x), W), 0.0)

# milstein(h): the Milstein method, with second iterated integrals by the
# derivative of g, in equal steps of at most h. Strong and weak order 1.
#   It is for all noise. General noise that does not commute (g_j' g_k = g_k'
#   g_j, tested at the start) needs Lévy areas of the path. Below each step the
#   path is split further, as many times as the interval was split into steps.
#   The order then stays 1, and the work grows with the square of the number of
#   steps. [G. N. Milstein, Theory Probab. Appl. 19 (1974) 557-562; Foster,
#   Lyons and Oberhauser 2020 for the conditional mean of an area, given W and
#   H]
#     s = sde((t, x) -> 0.5x, (t, x) -> x, [1.0], (0.0, 1.0); method = milstein(1e-3), seed = 5);
#     s.values[-1]                     #~ exp(s.W[-1]) tol 1e-2
milstein(h; max_steps = 0) =
  (name = "milstein", sense = "ito", adaptive = false, h = f64(h), max_steps = max_steps,
    areas = true, check = _any_general_noise, step = _by_milstein)
# Σ_jk (g_k' g_j) (½ (ΔW_j ΔW_k - δ_jk h) + A_jk); the first part is one
# derivative along g ΔW.
_by_milstein(f, g, way, o) = (t, x, h, W, H, area) -> {
  v = _along(way, g(t, x), W)
  z = x + h * f(t, x) + v +
    0.5 * (jvp(u -> _along(way, g(t, u), W), x, v)[1] - h * _twist(g, way, t, x))
  if way == "general" { if o.areas { z = z + _along_areas(g, t, x, area()) } }
  (z, 0.0)
}
_along_areas(g, t, x, A) = {
  G = g(t, x)
  sum(map((e, d) -> jvp(u -> g(t, u) @ e, x, d)[1], eye(shape(G)[1]), transpose(G @ A)); axis = 0)
}

# heun(h): Heun's method in equal steps of at most h. It solves the Stratonovich
# equation; an Itô equation is converted. Strong order 1 for noise that
# commutes, else 1/2.
#   [W. Rümelin, SIAM J. Numer. Anal. 19 (1982) 604-613]
#     s = sde((t, x) -> 0*x, (t, x) -> x, [1.0], (0.0, 1.0); calculus = "stratonovich", method = heun(1e-3), seed = 5);
#     s.values[-1]                     #~ exp(s.W[-1]) tol 1e-2
heun(h; max_steps = 0) =
  (name = "heun", sense = "stratonovich", adaptive = false, h = f64(h), max_steps = max_steps,
    areas = false, check = _any_noise, step = _by_heun)
_by_heun(f, g, way, o) = (t, x, h, W, H, area) -> {
  a = h * f(t, x) + _along(way, g(t, x), W)
  (x + 0.5 * (a + h * f(t + h, x + a) + _along(way, g(t + h, x + a), W)), 0.0)
}

# sri(h): stochastic Runge-Kutta method of strong order 1.5 and weak order 2,
# for diagonal and scalar noise; without h step sizes are controlled by rtol and
# atol.
#   A step takes two evaluations of f and four of g. The error is relative to an
#   embedded method of order 1. Where f or g jumps with the state these orders
#   do not hold; without h, steps near a jump are limited by its possible
#   effect. For diagonal noise g[i] depends on x[i] alone. [A. Rößler, SIAM J.
#   Numer. Anal. 48 (2010) 922-952, SRI1W1; error estimate: Rackauckas and Nie
#   2017]
#     s = sde((t, x) -> 0.5x, (t, x) -> x, [1.0], (0.0, 1.0); method = sri(), rtol = 1e-4, seed = 5);
#     s.values[-1]                     #~ exp(s.W[-1]) tol 5e-3
sri(h = none; max_steps = 0) =
  (name = "sri", sense = "ito", adaptive = kind(h) == "none",
    h = if kind(h) == "none" {
      0.0
    } else {
      f64(h)
    }, max_steps = max_steps, areas = false, check = _diagonal_noise, step = _by_sri)
_by_sri(f, g, way, o) = (t, x, h, W, H, area) -> {
  r = sqrt(h)
  # I(1,1)/√h, I(1,0)/h, I(1,1,1)/h
  two = 0.5 * (W * W - h) / r
  area = 0.5 * W + H
  three = W * (W * W - 3 * h) / (6 * h)
  f1 = f(t, x)
  g1 = g(t, x)
  f2 = f(t + 0.75 * h, x + 0.75 * h * f1 + 1.5 * _along(way, g1, area))
  g2 = g(t + 0.25 * h, x + 0.25 * h * f1 + 0.5 * r * g1)
  g3 = g(t + h, x + h * f1 - r * g1)
  g4 = g(t + 0.25 * h, x + 0.25 * h * f1 + r * (0.5 * g3 + 3 * g2 - 5 * g1))
  noise = _along(way, 2 * g1 - 4/3 * g2 - 2/3 * g3, area) +
    _along(way, 5/3 * g2 - 2 * g1 - 2/3 * g3 + g4, three)
  z = x + h * (f1 + 2 * f2) / 3 + _along(way, 4/3 * g2 - g1 + 2/3 * g3, W) +
    _along(way, 4/3 * g2 - g1 - 1/3 * g3, two) + noise
  e = if o.measured {
    jumps = if kind(o.crossed) == "none" { 0.0 } else { o.crossed(t, x, z, h, f1, g1) }
    _rms((abs(noise) + abs(h * (f2 - f1)) / 6 + jumps) / (o.atol + o.rtol * max(abs(x), abs(z))))
  } else { 0.0 }
  (z, e)
}

# A function (t, x, z, h, f, g) -> f64[n]: the possible error of a step from x
# to z because f or g jumps where the state crosses a comparison. No stage may
# have seen the jump. Kinks do not count.
_jumps_near(f, g) = (t, x, z, h, v, G) -> {
  c =
    (t, x) -> _own_switches(q -> concat(ravel(f(q[0], q[1..]) + 0.0), ravel(g(q[0], q[1..]) + 0.0)),
      concat(expand(t, 0), x))
  (t, x, z) = (stop_gradient(t), stop_gradient(x), stop_gradient(z))
  C = c(t, x)
  off = zeros_like(x)
  if _is_fixed(len(C)) and len(C) == 0 { off } else {
    J = jacobian(x -> c(t, x))(x)
    reach = abs(J) @ (abs(h * v) + 3 * sqrt(h) * abs(G))
    near = abs(C) <= reach or (C <= 0) != (c(t + h, z) <= 0)
    for k in 0..len(C) {
      n = sum(J[k]^2)
      if near[k] and n > 0 {
        # both sides of the jump, at the nearest point
        side = d -> x - J[k] * (C[k] + d * 1e-9 * (reach[k] + abs(C[k]))) / n
        (a, b) = (side(-1.0), side(1.0))
        off = off + 0.5 * (h * abs(f(t, a) - f(t, b)) + sqrt(h) * abs(g(t, a) - g(t, b)))
      }
    }
    off
  }
}

# ---- noise

_noise_of(noise, g) =
  if kind(noise) == "none" { if rank(g) == 2 { "general" } else { "diagonal" } } else {
    if noise == "general" {
      if rank(g) != 2 {
        _refuse("g of general noise gives a matrix, a column for each Wiener process")
      }
    } else if noise == "diagonal" or noise == "scalar" {
      if rank(g) != 1 { _refuse("g of {noise} noise gives a vector, a number for each unknown") }
    } else { _refuse("noise is \"diagonal\", \"scalar\" or \"general\", not \"{noise}\"") }
    noise
  }
_along(way, G, w) =
  if way == "diagonal" { G * w } else if way == "scalar" { G * w[0] } else { G @ w }
# Σ_j g_j' g_j: twice the difference of the Itô and Stratonovich drifts.
_twist(g, way, t, x) = if way == "general" {
  G = g(t, x)
  sum(map(w -> jvp(u -> g(t, u) @ w, x, G @ w)[1], eye(shape(G)[1])); axis = 0)
} else { jvp(u -> g(t, u), x, g(t, x))[1] }

_any_noise(m, g, way, t, x) = none
# g[i] depends on x[i] alone, for all t and x.
_diagonal_noise(m, g, way, t, x) = if way == "general" {
  _refuse(
    "{m.name}() is for diagonal and scalar noise; milstein(h) and euler_maruyama(h) take general "
    "noise")
} else if way == "diagonal" and len(x) > 1 {
  p = _primal(() -> { p = _pattern(g, (t, x), 1, false); (p.rows, p.columns) })
  others = p[0][p[0] != p[1]]
  if len(others) > 0 {
    error(
      "{m.name}() wants diagonal noise whose g[i] depends on x[i] alone; here g[{others[0]}] "
      "depends on others: say noise = \"scalar\" if there is one Wiener process, or take "
      "euler_maruyama(h)")
  }
}
_any_general_noise(m, g, way, t, x) = if way != "general" { _diagonal_noise(m, g, way, t, x) }
# Whether general noise is not proven to commute. A single process commutes, and
# so does g that does not depend on x.
_is_twisted(g, t, x) = shape(g(t, x))[1] > 1 and _dependence(g, t, x).depends[1]

# ---- paths

# Philox 4x32 with 10 rounds, as in rand: 128 bits for a key and a counter of
# two integers (Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy
# as 1, 2, 3, SC 2011).
_philox(key, counter, more) = {
  low = 4294967295
  k0 = bitand(key, low)
  k1 = bitshift(key, -32)
  c0 = bitand(counter, low)
  c1 = bitshift(counter, -32)
  c2 = bitand(more, low)
  c3 = bitshift(more, -32)
  for round in each(10) {
    p0 = 3528531795 * c0
    p1 = 3449720151 * c2
    c0 = bitxor(bitxor(bitshift(p1, -32), c1), k0)
    c1 = bitand(p1, low)
    c2 = bitxor(bitxor(bitshift(p0, -32), c3), k1)
    c3 = bitand(p0, low)
    k0 = bitand(k0 + 2654435769, low)
    k1 = bitand(k1 + 3144134277, low)
  }
  (bitxor(c0, bitshift(c1, 32)), bitxor(c2, bitshift(c3, 32)))
}
_uniform(bits) = (f64(bitshift(bits, -11)) + 0.5) * 1.1102230246251565e-16
# Two independent normal vectors for a cell, by the Box-Muller method.
_normals(p, cell) = {
  (a, b) = _philox(p.key, cell, p.of)
  r = sqrt(-2 * log(_uniform(a)))
  v = 6.283185307179586 * _uniform(b)
  (r * cos(v), r * sin(v))
}

# Cells: 1 is the whole interval, 2c and 2c + 1 are the halves of c.
_path(key, n, length) = (key = key, of = iota(n), length = length)
# W and H of the whole interval, of variance h and h/12, where H = (1/h) ∫ (W(s)
# - s/h W(h)) ds.
_whole(p) = {
  (a, b) = _normals(p, 0)
  (sqrt(p.length) * a, sqrt(p.length / 12) * b)
}
# W and H of the halves of a cell of length h. W = W₁ + W₂ and H = (H₁ + H₂)/2 +
# (W₁ - W₂)/4. Given these, W₁ - W₂ has mean 3H and variance h/4; H₁ + H₂ = 2H -
# (W₁ - W₂)/2; and H₁ - H₂, of variance h/12, is independent of all.
_halves(p, cell, h, W, H) = {
  (a, b) = _normals(p, cell)
  d = 3 * H + 0.5 * sqrt(h) * a
  s = 2 * H - 0.5 * d
  e = sqrt(h / 12) * b
  (0.5 * (W + d), 0.5 * (s + e), 0.5 * (W - d), 0.5 * (s - e))
}
# W and H of the first `part` of a cell of length h.
_path_part(p, cell, level, h, W, H, part) = {
  w = zeros(len(W))
  area = zeros(len(W))
  left = part
  while left > 0 and level < 60 {
    (W1, H1, W2, H2) = _halves(p, cell, h, W, H)
    h = 0.5 * h
    level = level + 1
    second = left >= h
    if second {
      area = area + h * (w + H1 + 0.5 * W1)
      w = w + W1
      left = left - h
    }
    cell = 2 * cell + (if second { 1 } else { 0 })
    W = if second { W2 } else { W1 }
    H = if second { H2 } else { H1 }
  }
  (w, area / part - 0.5 * w)
}

# The Lévy areas ½ ∫ (W_j dW_k - W_k dW_j) of a cell. They are summed over its
# parts `deep` levels below, each with the conditional mean of its area, given
# its W and H.
_areas(p, cell, h, W, H, deep) = {
  m = len(W)
  (w, a, cells) = (expand(W, 0), expand(H, 0), expand([cell], 1))
  below = (...p, of = expand(p.of, 0))
  for level in 0..deep {
    (w1, a1, w2, a2) = _halves(below, cells, h, w, a)
    n = 2 * len(w)
    w = reshape(stack(w1, w2; axis = 1), n, m)
    a = reshape(stack(a1, a2; axis = 1), n, m)
    cells = reshape(stack(2 * cells, 2 * cells + 1; axis = 1), n, 1)
    h = 0.5 * h
  }
  begun = cumsum(w; axis = 0) - w
  B = transpose(0.5 * begun + a) @ w
  B - transpose(B)
}

# ---- integration along a path

# The state. t, x; at: W from the start; cell and level, h, W and H of the next
# cell; waitingW[level], waitingH[level]: those of second halves that come
# later; want: the desired size of the next step. status: 0 running, 1 the cell
# is too short, 2 steps are used up. lost: where x is no longer finite, for
# equal steps.
#
# With m.together such steps continue, so that all batch elements of a map are
# at the same time and write rows to the same position. Otherwise each batch
# element has its own loop, with its state in registers.
_along_path(m, one, x0, t0, t1, saveat, p) = {
  count = len(saveat)
  # static facts decide here: with saveat the number of rows is that of saveat,
  # also in each batch element of a map
  few = _is_fixed(count)
  whole = if few { count == 0 } else { false }
  if not whole { if count > 0 { _check_saveat(saveat, t0, t1) } }
  # the steps are fixed, and their contents move
  nodes = concat(expand(t0, 0), saveat, expand(t1, 0))
  # the places where f and g restart are fixed, too
  nodes = if _is_fixed(len(m.breaks)) { nodes } else {
    ends = concat(nodes, stop_gradient(m.breaks))
    ends[argsort(stop_gradient(ends))]
  }
  (t0, t1) = (stop_gradient(t0), stop_gradient(t1))
  T = p.length
  if not (m.adaptive or m.h > 0) { error("the step of {m.name}(h) must be more than 0, not {m.h}") }
  deepest = if not m.adaptive { i64(max(0.0, ceil(log2(T / m.h) - 1e-9))) } else { 46 }
  if deepest > 46 { error("steps of {m.h} are too short for an interval of {T}") }
  (W, H) = _whole(p)
  m = (...m, together = true)
  s = (t = t0, x = x0, at = zeros(len(W)), cell = 1, level = 0, h = T, W = W, H = H,
    waitingW = zeros(deepest + 1, len(W)), waitingH = zeros(deepest + 1, len(W)),
    want = if not m.adaptive {
      T * 0.5^deepest
    } else {
      T / 16
    }, steps = 0, refused = 0,
    status = 0, lost = inf, open = true)
  if (if few { count == 1 } else { false }) and all(saveat == t1) {
    alone = (...m, together = false)
    while s.open { s = _move(alone, one, s, t0, t1, p, deepest, nodes)[0] }
    _stopped(m, one, s, t1)
    _path_result(m, s, p, saveat, expand(s.x, 0), expand(s.at, 0))
  } else if not whole {
    X = expand(x0, 0) + 0.0 * expand(saveat, 1)
    A = zeros(count, len(W))
    j = sum(i64(saveat <= t0))
    while s.open {
      (now, taken, c) = _move(m, one, s, t0, t1, p, deepest, nodes)
      if taken {
        while j < count and saveat[min(j, count - 1)] <= now.t {
          at = stop_gradient(saveat[j])
          if at == now.t {
            X[j] = now.x
            A[j] = now.at
          } else {
            (w, first) = _path_part(p, c.cell, c.level, c.h, c.W, c.H, at - s.t)
            (x, _, w) =
              _over(m, one, p, nodes, s.t, s.x, c, at - s.t, w, first,
                h -> _areas(p, 0, h, w, first, 0))
            X[j] = x
            A[j] = s.at + w
          }
          j = j + 1
        }
      }
      s = now
    }
    _stopped(m, one, s, t1)
    _path_result(m, s, p, saveat, X, A)
  } else {
    times = reshape(s.t, 1)
    X = expand(x0, 0)
    A = expand(s.at, 0)
    size = 64
    while s.open {
      R = zeros(size)
      Y = zeros(size, len(x0))
      B = zeros(size, len(W))
      k = 0
      while s.open and k < size {
        (s, taken, _) = _move(m, one, s, t0, t1, p, deepest, nodes)
        if taken {
          R[k] = s.t
          Y[k] = s.x
          B[k] = s.at
          k = k + 1
        }
      }
      times = concat(times, R[..k])
      X = concat(X, Y[..k])
      A = concat(A, B[..k])
      size = 2 * size
    }
    _stopped(m, one, s, t1)
    times = _placed(times, map(t -> _moving_with(nodes, t)[0], times))
    _path_result(m, s, p, times, X, A)
  }
}

# The start time, length, W and H of the first `part` of a cell at t, with
# derivatives with respect to the times in nodes. The path is stretched between
# consecutive nodes, W by the root of the factor. A part with nodes inside is
# composed of the pieces between them. The values do not change.
_stretched(p, nodes, t, c, part, w, H) = {
  (begin, k, r) = _moving_with(nodes, t)
  at = stop_gradient(nodes)
  # values and derivatives: distance, W there, and its integral
  (u, V, A) = (0.0, 0 * w, 0 * w)
  (h, W, B) = (0.0, 0 * w, 0 * w)
  while u < part {
    to = if k >= len(r) - 1 { part } else { min(part, at[k + 1] - t) }
    (v, first) = if to == part { (w, H) } else { _path_part(p, c.cell, c.level, c.h, c.W, c.H, to) }
    a = to * (first + 0.5 * v)
    long = r[k] * (to - u)
    B = B + long * W + r[k] * sqrt(r[k]) * (a - A - (to - u) * V)
    W = W + sqrt(r[k]) * (v - V)
    h = h + long
    (u, V, A) = (to, v, a)
    k = min(k + 1, len(r) - 1)
  }
  (_placed(t, begin), _placed(part, h), _placed(w, W), _placed(H, B / h - 0.5 * W))
}

# t as it moves with the nodes, the index of the last node not after it, and the
# stretch factor after each node.
_moving_with(nodes, t) = {
  at = stop_gradient(nodes)
  between = at[1..] - at[..-1]
  r = where(between > 0, (nodes[1..] - nodes[..-1]) / where(between > 0, between, 1.0), 1.0)
  k = clamp(sum(i64(at <= t)) - 1, 0, len(r) - 1)
  (nodes[k] + r[k] * (t - at[k]), k, r)
}
# x after the first `part` of a cell at t, the error and W. This is one step, or
# several that end where f and g restart; between these the path is held and not
# stretched.
_over(m, one, p, nodes, t, x, c, part, W, H, area) = {
  (from, long, W, first) = _stretched(p, nodes, t, c, part, W, H)
  if _is_fixed(len(m.breaks)) { (...one(from, x, long, W, first, () -> area(long)), W) } else {
    at = stop_gradient(m.breaks)
    (begin, end) = (sum(i64(at <= t)), sum(i64(at < t + part)))
    # neither end evaluates the other side
    some = 8 * 2.3e-16 * (abs(t) + abs(t + part))
    (z, e) = (x, 0.0)
    (u, U, V, A) = (0.0, 0.0, 0 * W, 0 * W)
    for k in begin..end + 1 {
      (l, v, H) = if k < end {
        (v, H) = _path_part(p, c.cell, c.level, c.h, c.W, c.H, at[k] - t)
        _stretched(p, nodes, t, c, at[k] - t, v, H)[1..]
      } else { (long, W, first) }
      # the movement of the switch changes the time for which f is on each side
      L = l + (if k < end { m.breaks[k] - at[k] } else { 0.0 })
      (h, a) = (l - u, l * (H + 0.5 * v))
      H = (a - A - h * V) / h - 0.5 * (v - V)
      gap = stop_gradient(min(some, 1e-10 * h))
      (z, off) =
        one(from + U + gap, z, L - U - 2 * gap, v - V, H,
          () -> if begin < end { _areas(p, 0, h, v - V, H, 0) } else { area(long) })
      e = e + off
      (u, U, V, A) = (l, L, v, a)
    }
    (z, e, W)
  }
}

# One step, accepted or not: (the new state, whether it was accepted, the cell
# of the attempt). Of a cell that is too long the first half is taken, and the
# second half waits.
_move(m, one, s, t0, t1, p, deepest, nodes) = {
  (cell, level, h, W, H) = (s.cell, s.level, s.h, s.W, s.H)
  (waitingW, waitingH) = (s.waitingW, s.waitingH)
  while (h > 1.5 * s.want or _steps_over(m, h)) and level < deepest {
    (W1, H1, W2, H2) = _halves(p, cell, h, W, H)
    cell = 2 * cell
    level = level + 1
    h = 0.5 * h
    W = W1
    H = H1
    waitingW[level] = W2
    waitingH[level] = H2
  }
  c = (cell = cell, level = level, h = h, W = W, H = H)
  (z, e, w) = _over(m, one, p, nodes, s.t, s.x, c, h, W, H,
    long -> _placed(1.0, long / c.h) * _areas(p, c.cell, c.h, c.W, c.H,
      min(max(level - 1, 3), 58 - level)))
  e = stop_gradient(e)
  taken = e <= 1
  finite = max(abs(stop_gradient(z))) < inf
  want = if not m.adaptive {
    s.want
  } else {
    h * where(e < inf, clamp(0.9 * max(e, 1e-10)^(-2/3), 0.2, where(taken, 4.0, 0.5)), 0.2)
  }
  if taken {
    # up while the cell is a second half, then to the next cell
    while cell % 2 == 1 and cell > 1 {
      cell = cell // 2
      level = level - 1
      h = 2 * h
    }
    over = cell == 1
    cell = cell + 1
    if not over {
      W = waitingW[level]
      H = waitingH[level]
    }
    t = where(over, t1, t0 + (cell - bitshift(1, level)) * h)
    steps = s.steps + 1
    status = if not over and steps + s.refused >= _most_moves(m) { 2 } else { 0 }
    lost = if m.adaptive { inf } else { where(finite or s.lost < inf, s.lost, stop_gradient(t)) }
    ((t = t, x = z, at = s.at + w, cell = cell, level = level, h = h, W = W, H = H,
      waitingW = waitingW, waitingH = waitingH, want = want, steps = steps, refused = s.refused,
      status = status, lost = lost, open = not over and status == 0 and
      (if m.together { true } else { lost == inf })), true, c)
  } else {
    status = if level >= deepest {
      1
    } else {
      if s.steps + s.refused >= _most_moves(m) { 2 } else { 0 }
    }
    ((t = s.t, x = s.x, at = s.at, cell = cell, level = level, h = h, W = W, H = H,
      waitingW = waitingW, waitingH = waitingH, want = want, steps = s.steps, refused = s.refused +
      1, status = status, lost = s.lost,
      open = status == 0), false, c)
  }
}
_most_moves(m) =
  if m.max_steps > 0 { m.max_steps } else { if not m.adaptive { 2000000000 } else { 1000000 } }

_stopped(m, one, s, t1) = if s.status != 0 or s.lost < inf {
  i = argmax(f64(not (abs(s.x) < inf)))
  if s.lost < inf {
    error(
      "no solution beyond t = {s.lost}: there x is no longer finite, in the end x[{i}] = {s.x[i]}. "
      "The steps may be too long for the equation, or it may grow without bound; sri() chooses its "
      "steps")
  } else if s.status == 1 {
    error(
      "no solution beyond t = {s.t}: steps of {s.h} still err too much, or f or g is not finite "
      "there; the values are x = {s.x}. The equation may grow without bound, or leave the domain "
      "of f or g; or tolerances may be too tight")
  } else {
    error(
      "no solution beyond t = {s.t}: {s.steps + s.refused} steps are used up on the way to t = "
      "{t1}; the values are x = {s.x}. Loosen rtol and atol, or allow more with max_steps")
  }
}

_path_result(m, s, p, times, X, A) =
  (y = _over_times("t", times, t -> _between_rows(times, X, t)), times = times, values = X, W = A,
    stats = (steps = s.steps, refused = s.refused), method = m.name, seed = p.key)
_between_rows(times, X, t) = if len(times) == 1 { X[0] } else {
  k = clamp(searchsorted(times, stop_gradient(t)) - 1, 0, len(times) - 2)
  c = (t - times[k]) / (times[k + 1] - times[k])
  (1 - c) * X[k] + c * X[k + 1]
}
