# Time tiling: loops that update arrays by stencils run several iterations at
# once, tile by tile.
#
# Oracle: the same steps in a `while`, which is not tiled; the results are
# bit-identical. Sizes give one chunk and several, and trip counts are below and
# above the tile depth.

same(f, g, u, steps) = { ok = true; for k in steps { ok = ok and sum(abs(f(u, k) - g(u, k))) == 0 }; ok }
# For steps whose functions may run in the evaluator.
near(f, g, u, steps) = { ok = true; for k in steps { ok = ok and max(abs(f(u, k) - g(u, k))) < 1e-12 }; ok }
turns = [0, 1, 2, 3, 9, 31, 32, 33, 70];
wave(n, m) = [sin(0.37i + 0.11j^2) for i in 0..n, j in 0..m]
line(n) = [sin(0.001i^2) for i in 0..n]

# A box that the stencil updates; the border is unmodified.
heat_step(u) = {
  n, m = len(u), len(u[0])
  change[i, j] := u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - 4u[i, j] for i in 1..n-1, j in 1..m-1
  u[1..-1, 1..-1] += 0.2*change
  u
}
heat(u, steps) = { for k in 0..steps { u = heat_step(u) }; u }
heat_by_turns(u, steps) = { k = 0; while k < steps { u = heat_step(u); k += 1 }; u }
same(heat, heat_by_turns, wave(300, 200), turns)   #> true
same(heat, heat_by_turns, wave(40, 30), turns)     #> true
same(heat, heat_by_turns, wave(1500, 20), turns)   #> true
same(heat, heat_by_turns, wave(20, 3000), turns)   #> true
same(heat, heat_by_turns, wave(3, 3), turns)       #> true
same(heat, heat_by_turns, wave(2, 2), turns)       #> true

# Along one axis, two neighbours on either side, with SIMD lanes along the rows.
spread_step(u) = { u[2..-2] += 0.1*(u[..-4] - 4u[1..-3] + 6u[2..-2] - 4u[3..-1] + u[4..]) * -0.1; u }
spread(u, steps) = { for k in 0..steps { u = spread_step(u) }; u }
spread_by_turns(u, steps) = { k = 0; while k < steps { u = spread_step(u); k += 1 }; u }
same(spread, spread_by_turns, line(200000), [0, 1, 2, 31, 40])   #> true
same(spread, spread_by_turns, line(5000), turns)                 #> true
same(spread, spread_by_turns, line(7), turns)                    #> true

# As many chunks as blocks of rows, the last one short.
costly_step(u) = { u[1..-1] = 0.3*(sin(u[..-2]) + cos(u[2..]) + exp(-u[1..-1]^2)); u }
costly(u, steps) = { for k in 0..steps { u = costly_step(u) }; u }
costly_by_turns(u, steps) = { k = 0; while k < steps { u = costly_step(u); k += 1 }; u }
near(costly, costly_by_turns, line(3*2048 + 3), turns)       #> true
near(costly, costly_by_turns, line(5*2048 + 22), turns)      #> true
near(costly, costly_by_turns, line(4*2048 + 2), [33, 70])    #> true

# One-sided and wide: the box begins at 5.
flow_step(u) = { u[5..] -= 0.3*(u[5..] - u[..-5]); u }
flow(u, steps) = { for k in 0..steps { u = flow_step(u) }; u }
flow_by_turns(u, steps) = { k = 0; while k < steps { u = flow_step(u); k += 1 }; u }
same(flow, flow_by_turns, line(150001), [1, 2, 31, 40])   #> true
same(flow, flow_by_turns, line(900), turns)               #> true

# Two coupled arrays in one loop.
gray(u, v, steps) = {
  for k in 0..steps {
    n, m = len(u), len(u[0])
    r = u[1..-1, 1..-1] * v[1..-1, 1..-1]^2
    lu[i, j] := u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - 4u[i, j] for i in 1..n-1, j in 1..m-1
    lv[i, j] := v[i-1, j] + v[i+1, j] + v[i, j-1] + v[i, j+1] - 4v[i, j] for i in 1..n-1, j in 1..m-1
    u[1..-1, 1..-1] += 0.16lu - r + 0.035(1 - u[1..-1, 1..-1])
    v[1..-1, 1..-1] += 0.08lv + r - 0.1v[1..-1, 1..-1]
  }
  [u, v]
}
gray_by_turns(u, v, steps) = {
  k = 0
  while k < steps {
    n, m = len(u), len(u[0])
    r = u[1..-1, 1..-1] * v[1..-1, 1..-1]^2
    lu[i, j] := u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - 4u[i, j] for i in 1..n-1, j in 1..m-1
    lv[i, j] := v[i-1, j] + v[i+1, j] + v[i, j-1] + v[i, j+1] - 4v[i, j] for i in 1..n-1, j in 1..m-1
    u[1..-1, 1..-1] += 0.16lu - r + 0.035(1 - u[1..-1, 1..-1])
    v[1..-1, 1..-1] += 0.08lv + r - 0.1v[1..-1, 1..-1]
    k += 1
  }
  [u, v]
}
same((u, k) -> gray(u, 0.5u^2, k), (u, k) -> gray_by_turns(u, 0.5u^2, k), abs(wave(300, 90)), turns)   #> true
same((u, k) -> gray(u, 0.5u^2, k), (u, k) -> gray_by_turns(u, 0.5u^2, k), abs(wave(12, 9)), turns)     #> true

# No border: every element is recomputed, and neighbours are clamped.
clamped_step(u, c) = { n = len(u); 0.5u + c*([u[max(i - 1, 0)] for i in 0..n] + u) }
padded_step(u, w) = { p = concat([w], u, [w]); 0.25p[..-2] + 0.5p[1..-1] + 0.25p[2..] }
padded(u, steps) = { for k in 0..steps { u = padded_step(u, 0.0) }; u }
padded_by_turns(u, steps) = { k = 0; while k < steps { u = padded_step(u, 0.0); k += 1 }; u }
same(padded, padded_by_turns, line(70000), [0, 1, 2, 33])   #> true
same(padded, padded_by_turns, line(50), turns)              #> true
clamped(u, steps) = { for k in 0..steps { u = clamped_step(u, 0.2) }; u }
clamped_by_turns(u, steps) = { k = 0; while k < steps { u = clamped_step(u, 0.2); k += 1 }; u }
same(clamped, clamped_by_turns, line(3000), turns)          #> true

# Gradient descent on an energy. Its gradient is padded slices.
energy(u) = sum((u[1..] - u[..-1])^2) + 0.1*sum((u[2..] - u[..-2])^2)
descent(u, steps) = { for k in 0..steps { u = u - 0.1*grad(energy)(u) }; u }
descent_by_turns(u, steps) = { k = 0; while k < steps { u = u - 0.1*grad(energy)(u); k += 1 }; u }
same(descent, descent_by_turns, line(70000), [0, 1, 2, 33])   #> true
same(descent, descent_by_turns, line(90), turns)              #> true

# Scalars computed in each iteration; an invariant field.
driven(u, a, steps) =
  { for k in 0..steps { c = 0.01 / (1 + k); u[1..-1] += c*a[1..-1]*(u[..-2] - 2u[1..-1] + u[2..]) + cos(0.1k) }; u }
driven_by_turns(u, a, steps) =
  { k = 0; while k < steps { c = 0.01 / (1 + k); u[1..-1] += c*a[1..-1]*(u[..-2] - 2u[1..-1] + u[2..]) + cos(0.1k); k += 1 }; u }
near((u, k) -> driven(u, 1 + u^2, k), (u, k) -> driven_by_turns(u, 1 + u^2, k), line(90000), [1, 2, 33])   #> true
near((u, k) -> driven(u, 1 + u^2, k), (u, k) -> driven_by_turns(u, 1 + u^2, k), line(60), turns)           #> true

# Three axes; f32; only the ends of a row are changed.
solid_step(u) = {
  u[1..-1, 1..-1, 1..-1] += 0.1*(u[..-2, 1..-1, 1..-1] + u[2.., 1..-1, 1..-1] + u[1..-1, ..-2, 1..-1] + u[1..-1, 2.., 1..-1] -
    4u[1..-1, 1..-1, 1..-1]);
  u
}
solid(u, steps) = { for k in 0..steps { u = solid_step(u) }; u }
solid_by_turns(u, steps) = { k = 0; while k < steps { u = solid_step(u); k += 1 }; u }
same(solid, solid_by_turns, [sin(i + 2j + 0.3k) for i in 0..60, j in 0..25, k in 0..18], turns)   #> true
same(heat, heat_by_turns, f32(wave(200, 150)), turns)                                             #> true

# Integers and selections; one array is read during the other's update.
life_step(u) = {
  n, m = len(u), len(u[0])
  near[i, j] := u[i-1, j-1] + u[i-1, j] + u[i-1, j+1] + u[i, j-1] + u[i, j+1] + u[i+1, j-1] + u[i+1, j] +
    u[i+1, j+1] for i in 1..n-1, j in 1..m-1
  u[1..-1, 1..-1] = where(near == 3, 1, where(near == 2, u[1..-1, 1..-1], 0))
  u
}
life(u, steps) = { for k in 0..steps { u = life_step(u) }; u }
life_by_turns(u, steps) = { k = 0; while k < steps { u = life_step(u); k += 1 }; u }
same(life, life_by_turns, [i64(sin(3i^2 + j^3) > 0.2) for i in 0..300, j in 0..120], turns)   #> true
both(u, v, steps) = { for k in 0..steps { v[1..-1] += 0.1*(u[..-2] - u[2..]); u[1..-1] += 0.1*(v[..-2] - v[2..]) }; [u, v] }
both_by_turns(u, v, steps) =
  { k = 0; while k < steps { v[1..-1] += 0.1*(u[..-2] - u[2..]); u[1..-1] += 0.1*(v[..-2] - v[2..]); k += 1 }; [u, v] }
same((u, k) -> both(u, u^2, k), (u, k) -> both_by_turns(u, u^2, k), line(60000), [1, 2, 33])     #> true

# Periodic boundaries, the other axis and global reductions: not tiled.
round_step(u) = 0.5u + 0.25*(concat(u[1..], u[..1]) + concat(u[-1..], u[..-1]))
around(u, steps) = { for k in 0..steps { u = round_step(u) }; u }
around_by_turns(u, steps) = { k = 0; while k < steps { u = round_step(u); k += 1 }; u }
same(around, around_by_turns, line(70000), [1, 2, 33])   #> true
turned_step(u) = { u[1..-1, 1..-1] += 0.1*(u'[..-2, 1..-1] - u[2.., 1..-1]); u }
turned(u, steps) = { for k in 0..steps { u = turned_step(u) }; u }
turned_by_turns(u, steps) = { k = 0; while k < steps { u = turned_step(u); k += 1 }; u }
same(turned, turned_by_turns, wave(200, 200), turns)     #> true
norm_step(u) = { u[1..-1] += 0.1*(u[..-2] + u[2..] - 2u[1..-1]) / (1 + sum(u^2)); u }
normed(u, steps) = { for k in 0..steps { u = norm_step(u) }; u }
normed_by_turns(u, steps) = { k = 0; while k < steps { u = norm_step(u); k += 1 }; u }
near(normed, normed_by_turns, line(70000), [1, 2, 33])   #> true

# Derivatives, and batches.
grad(u -> sum(heat(u, 3)^2))(wave(6, 5))[2]      #~ grad(u -> sum(heat_by_turns(u, 3)^2))(wave(6, 5))[2]
map(u -> heat(u, 5), [wave(20, 10), 2wave(20, 10)])[1]   #~ heat(2wave(20, 10), 5)
jvp(u -> heat(u, 9), wave(80, 70), wave(80, 70))[1][5]   #~ heat(wave(80, 70), 9)[5] tol 1e-12
