# Sources that are narrow in both time and space: methods integrate them in
# full, or refuse the solution.
# In a long check only: it takes half a minute.

problem flash(a, b, w, v) {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.3u_xx + exp(-((t - b)/w)^2 - ((x - a)/v)^2)/(π*w*v)
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
# Each mode of the source decays after the flash. The width of the flash in
# space reduces the mode cos(nπx) by exp(-(nπv)²/4); its duration multiplies it
# by exp((0.3n²π²w)²/4).
right(x, a, b, w, v) = {
  n = π*f64(1 + iota(8))
  r = 0.3n^2
  1 + sum(2*cos(n*a)*cos(n*x)*exp(-(n*v)^2/4 - r*(1 - b) + (r*w)^2/4))
}
answered = 0
for (a, b) in [0.613, 0.29; 0.371, 0.77] {
  for (w, v) in [0.03, 0.03; 0.01, 0.03; 0.03, 0.006; 0.004, 0.004; 0.001, 0.02] {
    for m in (fd(n = 41), chebyshev(16), fem(0.05), fv(n = 50)) {
      s = try { solve(flash(a, b, w, v), m; estimate = true) } catch e {
        assert(len(split(e, "as its own estimate says")) + len(split(e, "no point of")) > 2, "{m.name} {a} {b} {w} {v}: {e}")
        none
      }
      if kind(s) == "record" {
        off = abs(s.u(1.0, 0.5)/right(0.5, a, b, w, v) - 1)
        assert(off < 3*s.error + 1e-5, "{m.name} {a} {b} {w} {v}: {off} {s.error}")
        answered = answered + 1
      }
    }
  }
}
# all by fem(), whose elements end at the flash, and the wide ones
answered >= 20       #> true

# A moving source acts on every point for a short time only, but is no flash.
problem mover {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == 0.1u_xx + exp(-((x - 0.2 - 0.6t)/0.02)^2)/(0.02*sqrt(π))
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
}
# The mean over 20 points differs from the integral, 1, by 1e-3.
for m in (fd(n = 61), chebyshev(48), fem(0.02), fv(n = 61)) {
  assert(abs(sum([solve(mover, m).u(1.0, (k + 0.5)/20) for k in 0..20])/20 - 1) < 2e-3, m.name)
}

# in two dimensions
problem spark(w) {
  domain t in [0, 1], x in [0, 1], y in [0, 1]
  field u
  u_t == 0.3*∇²(u) + exp(-((t - 0.37)^2 + (x - 0.613)^2 + (y - 0.447)^2)/w^2)/(π*sqrt(π)*w^3)
  u == 0 at t = 0
  u_x == 0 at x = 0
  u_x == 0 at x = 1
  u_y == 0 at y = 0
  u_y == 0 at y = 1
}
# A product of modes along x and y. The effect of the spark's duration is below
# 5e-4.
for w in [0.1, 0.02] {
  whole = right(0.5, 0.613, 0.37, 0.0, w)*right(0.5, 0.447, 0.37, 0.0, w)
  for m in (fd(n = 21), fem(0.1)) {
    s = try { solve(spark(w), m; estimate = true) } catch e {
      assert(len(split(e, "as its own estimate says")) + len(split(e, "no point of")) > 2, "{m.name} {w}: {e}")
      none
    }
    if kind(s) == "record" { assert(abs(s.u(1.0, 0.5, 0.5)/whole - 1) < 3*s.error + 5e-4, "{m.name} {w}: {s.u(1.0, 0.5, 0.5)} {s.error}") }
  }
}
