# Shallow water: a dam breaks. A rarefaction runs back into the lake, and a bore
# over the low water. The level and speed between them follow from three
# equations (J. J. Stoker, Water Waves, 1957), solved here. There is one method
# for bores, finite volumes, with several fluxes and reconstructions. Errors are
# in the mean (L1), since at a bore every method is of first order.

problem dam(g = 9.81) {
  domain t in [0, 0.15], x in [-1, 1]
  field h, q
  h_t + ∂x(q) == 0
  q_t + ∂x(q^2/h + g*h^2/2) == 0
  h == if x < 0 { 1 } else { 0.1 } at t = 0
  q == 0                           at t = 0
}

# The speeds after a rarefaction from the left and a bore to the right that lead
# to a level h; they are equal in the middle state.
g = 9.81
back(h) = 2*(sqrt(g) - sqrt(g*h))
bore(h) = (h - 0.1)*sqrt(g/2*(h + 0.1)/(0.1h))
h = root(h -> back(h) - bore(h), 0.4)
assert(abs(h - 0.396174816799443) < 1e-12 and abs(back(h) - 2.32135) < 1e-5)
front = bore(h)*h/(h - 0.1)
exact(x) = {
  s = x/0.15
  if s < -sqrt(g) {
    1.0
  } else if s < back(h) - sqrt(g*h) {
    (2sqrt(g) - s)^2/(9g)
  } else if s < front {
    h
  } else {
    0.1
  }
}

x = -1 + (0.5 + iota(1000))/500.0
level = map(exact, x)
print("method                  relative error of the level, in the mean")
for (flux, how, bound) in (("rusanov", "first", 5e-2), ("rusanov", "muscl", 1e-2),
  ("roe", "muscl", 1e-2), ("hll", "muscl", 1e-2), ("hll", "weno5", 1e-2)) {
  s = solve(dam(), fv(n = 400, flux = flux, reconstruct = how), saveat = [0.15])
  off = mean(abs(s.h(0.15, x) - level))/mean(level)
  print("{s.method:-4s} {flux:-8s}{how:-8s} {off:.1e}")
  assert(off < bound)
}

times = linspace(0, 0.15, 76)
s = solve(dam(), fv(n = 400, flux = "hll", reconstruct = "weno5"), saveat = times)
heatmap(linspace(-1, 1, 201), times, map(t -> s.h(t, linspace(-1, 1, 201)), times)',
  title = "level behind a broken dam", xlabel = "x", ylabel = "t", zlabel = "h",
  file = "shallow_water.png")
