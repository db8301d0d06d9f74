# Disks, balls and peaks in several space coordinates: methods integrate them in
# full, or refuse the solution.
# In a long check only: it takes half a minute.

# Outside a disk of constant strength, and far from a peak, u is Green's
# function of the square, whatever the width.
problem disk(w) {
  domain x in [0, 1], y in [0, 1]
  field u
  0 == ∇·∇(u) + (if (x - 0.413)^2 + (y - 0.571)^2 < w^2 { 1/(π*w^2) } else { 0 })
  u == 0 at x = 0
  u == 0 at x = 1
  u == 0 at y = 0
  u == 0 at y = 1
}
problem peak(w) {
  domain x in [0, 1], y in [0, 1]
  field u
  0 == ∇·∇(u) + 1 + exp(-((x - 0.413)^2 + (y - 0.571)^2)/w^2)/(π*w^2)
  u == 0 at x = 0
  u == 0 at x = 1
  u == 0 at y = 0
  u == 0 at y = 1
}
# Σ 2 sin(nπx) sin(nπξ) sinh(nπy) sinh(nπ(1 - η))/(nπ sinh(nπ)), y < η
green(x, y, ξ, η) = {
  n = π*f64(1 + iota(200))
  hyperbolic = exp(n*(y - η))*(1 - exp(-2n*y))*(1 - exp(-2n*(1 - η)))/(1 - exp(-2n))/2
  sum(2*sin(n*x)*sin(n*ξ)*hyperbolic/n)
}
right = green(0.6, 0.5, 0.413, 0.571)
# -∇²u == 1, as a double sine series
even = {
  n = f64(1 + 2*iota(400))
  # The sum along y has a closed form: 4/(nπ)^3 (1 - cosh(nπ(y -
  # 1/2))/cosh(nπ/2)) at y = 1/2.
  sum(4/(n*π)^3*sin(n*π*0.6)*(1 - 1/cosh(n*π/2)))
}
coarse = list(fd(n = 31), chebyshev(16), fem(0.05), fem(0.05, order = 2))
fine = list(fd(n = 81), fem(0.02))
answered = 0
for (w, ways) in ((0.1, coarse), (0.03, list(...coarse, ...fine)), (0.01, list(...coarse, ...fine)), (0.003, coarse),
  (0.001, coarse)) {
  for (name, p, u) in (("disk", disk(w), right), ("peak", peak(0.4w), right + even)) {
    for m in ways {
      s = try { solve(p, m; estimate = true) } catch e {
        assert(len(split(e, "as its own estimate says")) + len(split(e, "no point of")) > 2, "{name} {m.name} {w}: {e}")
        none
      }
      if kind(s) == "record" {
        off = abs(s.u(0.6, 0.5)/u - 1)
        assert(off < 3*s.error + 1e-6, "{name} {m.name} {w}: {off} {s.error}")
        answered = answered + 1
      }
    }
  }
}
# two thirds of the wide ones and a few of width 0.01
answered >= 16      #> true

# A guard against 0/0, at a point or in a tiny disk, is no narrow source.
problem guarded(least) {
  domain x in [-1, 1], y in [-1, 1]
  field u
  r = sqrt((x - 0.1)^2 + y^2)
  -∇²(u) == (if r <= least { 1.0 } else { sin(r)/r })
  u == 0 at x = -1
  u == 0 at x = 1
  u == 0 at y = -1
  u == 0 at y = 1
}
for least in [0.0, 1e-9, 1e-4, 5e-3] {
  for m in (fd(n = 20), fd(n = 21), chebyshev(11), fem(0.1)) {
    assert(abs(solve(guarded(least), m).u(0.3, 0.2) - 0.24923) < 1e-4)
  }
}
problem guarded_line(w) {
  domain x in [0, 1]
  field u
  -u_xx == (if abs(x - 0.5) < w { 1.0 } else { sin(x - 0.5)/(x - 0.5) })
  u == 0 at x = 0
  u == 0 at x = 1
}
# 1 - z²/6 + z⁴/120 for z = x - 1/2, integrated twice
deep(z) = z^2/2 - z^4/72 + z^6/3600 - z^8/282240
for w in [1e-9, 1e-4, 3e-3] {
  for m in (fd(n = 40), chebyshev(15), collocation()) {
    assert(abs(solve(guarded_line(w), m).u(0.3) - deep(0.5) + deep(0.2)) < 1e-8, "{w} {m.name}")
  }
}
# A term is no guard if it is active only where u is nonzero or at some y, or if
# it slightly exceeds its surroundings.
problem dense {
  domain x in [0, 1]
  field u
  -u_xx + (if abs(x - 0.5) < 2e-3 { 100*u } else { u }) == 1
  u == 0 at x = 0
  u == 0 at x = 1
}
problem patch {
  domain x in [0, 1], y in [0, 1]
  field u
  -∇²(u) == 1 + (if abs(x - 0.5) < 2e-3 and y > 0.8 { 100.0 } else { 0.0 })
  u == 0 at x = 0
  u == 0 at x = 1
  u == 0 at y = 0
  u == 0 at y = 1
}
problem slight {
  domain x in [-1, 1], y in [-1, 1]
  field u
  r = sqrt((x - 0.1)^2 + y^2)
  -∇²(u) == (if r <= 5e-3 { 1.01 } else { sin(r)/r })
  u == 0 at x = -1
  u == 0 at x = 1
  u == 0 at y = -1
  u == 0 at y = 1
}
# A source outside the region is ignored.
problem outside {
  domain (x, y) in polygon([0, 0; 1, 0; 1, 0.5; 0.5, 0.5; 0.5, 1; 0, 1])
  field u
  -∇²(u) == 1 + (if (x - 0.8)^2 + (y - 0.8)^2 < 0.001 { 100.0 } else { 0.0 })
  u == 0 at boundary
}
problem without {
  domain (x, y) in polygon([0, 0; 1, 0; 1, 0.5; 0.5, 0.5; 0.5, 1; 0, 1])
  field u
  -∇²(u) == 1
  u == 0 at boundary
}
abs(solve(outside, fem(0.05)).u(0.2, 0.2) / solve(without, fem(0.05)).u(0.2, 0.2) - 1) < 1e-12     #> true

# with t, as an initial value, and in three coordinates
problem mover(w) {
  domain t in [0, 1], x in [0, 1], y in [0, 1]
  field u
  u_t == 0.1*∇²(u) + (if (x - 0.2 - 0.6t)^2 + (y - 0.5)^2 < w^2 { 1/(π*w^2) } else { 0.0 })
  u == 0 at t = 0
  u == 0 at x = 0
  u == 0 at x = 1
  u == 0 at y = 0
  u == 0 at y = 1
}
problem start(w) {
  domain t in [0, 1], x in [0, 1], y in [0, 1]
  field u
  u_t == 0.1*∇²(u)
  u == (if (x - 0.23)^2 + (y - 0.51)^2 < w^2 { 1/(π*w^2) } else { 0.0 }) at t = 0
  u == 0 at x = 0
  u == 0 at x = 1
  u == 0 at y = 0
  u == 0 at y = 1
}
problem ball(w) {
  domain x in [0, 1], y in [0, 1], z in [0, 1]
  field u
  -∇²(u) == (if (x - 0.43)^2 + (y - 0.51)^2 + (z - 0.55)^2 < w^2 { 1/w^3 } else { 0.0 })
  u == 0 at x = 0
  u == 0 at x = 1
  u == 0 at y = 0
  u == 0 at y = 1
  u == 0 at z = 0
  u == 0 at z = 1
}
refused(p, m) =
  try { solve(p, m); "none" } catch e { if len(split(e, "no point of {m.name}() is ")) > 1 { "yes" } else { e } }
for p in (mover(0.005), start(0.005)) { for m in (fd(n = 15), fem(0.1)) { assert(refused(p, m) == "yes", refused(p, m)) } }
for m in (fd(n = 10), fem(0.25)) { assert(refused(ball(0.005), m) == "yes", refused(ball(0.005), m)) }
for (p, m) in ((dense, fd(n = 40)), (dense, chebyshev(15)), (patch, fd(n = 20)), (slight, fd(n = 20)), (slight, chebyshev(11))) {
  assert(refused(p, m) == "yes", refused(p, m))
}
