# Systems with a sparsity pattern. Banded and sparse factors agree with dense
# ones: in the natural order of the unknowns and in a permuted one, with row
# exchanges, and in derivatives.
# As users run it only: compiling all of it takes long.

# The Brusselator on a line (Hairer and Wanner II, IV.10). `together`
# interleaves u and v. `apart` stores all of u before all of v; it has a narrow
# band only after a permutation.
between = 0.02 * 41^2
near(u, v) = {
  du = 1 + u^2 * v - 4u + between * (concat([1.0], u[..-1]) - 2u + concat(u[1..], [1.0]))
  dv = 3u - u^2 * v + between * (concat([3.0], v[..-1]) - 2v + concat(v[1..], [3.0]))
  (du, dv)
}
together(t, y) = { w = reshape(y, 40, 2); (a, b) = near(w[.., 0], w[.., 1]); ravel(stack(a, b; axis = 1)) }
apart(t, y) = { (a, b) = near(y[..40], y[40..]); concat(a, b) }
u0 = 1 + 0.5 * sin(2π * (iota(40) + 1) / 41)
v0 = 3 * ones(40)
explain(sparsity(y -> together(0.0, y), zeros(80)))    #> 80 by 80, 316 elements: 4 products with the derivative; systems: banded, 2 diagonals below and 2 above the main one
explain(sparsity(y -> apart(0.0, y), zeros(80)))       #> 80 by 80, 316 elements: 4 products with the derivative; systems: banded, 2 diagonals below and 2 above the main one in reverse Cuthill-McKee order
y0 = ravel(stack(u0, v0; axis = 1));
exact = ode(together, y0, (0.0, 10.0); method = dop853(), rtol = 1e-11, atol = 1e-13, saveat = [3.0, 10.0]).values;
for m in list(rodas5p(), radau5(), bdf()) {
  for way in list(true, "banded", "sparse", false) {
    a = ode(together, y0, (0.0, 10.0); method = m, rtol = 1e-8, atol = 1e-10, saveat = [3.0, 10.0], sparse = way)
    b = ode(apart, concat(u0, v0), (0.0, 10.0); method = m, rtol = 1e-8, atol = 1e-10, saveat = [3.0, 10.0], sparse = way)
    assert(max(abs(a.values - exact)) < 1e-6, "{m.name}, {way}: {max(abs(a.values - exact))} off")
    assert(max(abs(reshape(b.values, 2, 2, 40) - transpose(reshape(a.values, 2, 40, 2), 0, 2, 1))) < 1e-7, "{m.name}, {way}: in another order")
    if m.name == "radau5" { assert(a.stats.factorisations < 200, "{way}: {a.stats.factorisations} factorisations") }
  }
}
# The step sizes do not depend on the kind of factors.
few(way) = ode(together, y0, (0.0, 1.0); method = rodas5p(), saveat = [1.0], sparse = way)
few("banded").stats.steps == few(false).stats.steps and few("sparse").stats.steps == few(false).stats.steps    #> true
max(abs(few("banded").values - few(false).values)) < 1e-11    #> true
max(abs(few("sparse").values - few(false).values)) < 1e-11    #> true

# ---- row exchanges
# Rotating pairs: the diagonal of I / h - J is almost zero where steps are long.
turning(t, y) = { w = reshape(y, 30, 2); ravel(stack(1e5 * w[.., 1], -1e5 * w[.., 0] - 1e5 * w[.., 1]; axis = 1)) + concat(zeros(59), [1e5]) }
still = ode(turning, ones(60), (0.0, 10.0); method = radau5(), saveat = [10.0], sparse = "banded").values[0]
still                                                  #~ concat(zeros(58), [1.0, 0.0]) tol 1e-6
ode(turning, ones(60), (0.0, 10.0); method = rodas5p(), saveat = [10.0], sparse = "banded").values[0]      #~ still tol 1e-6
ode(turning, ones(60), (0.0, 10.0); method = bdf(), saveat = [10.0], sparse = "banded").values[0]          #~ still tol 1e-6

pulled(k, way) = sum(ode((t, y) -> k * turning(t, y), ones(60), (0.0, 1e-5); method = rodas5p(), rtol = 1e-9, atol = 1e-11, saveat = [1e-5], sparse = way).values[0]^2)
grad(k -> pulled(k, "banded"))(1.0) / grad(k -> pulled(k, false))(1.0) - 1      #~ 0 tol 1e-6

# ---- derivatives
# With respect to captured values and the end time, in both modes and of second
# order, against dense factors; and an integration backward in time.
decay(k, way, m) = sum(ode((t, y) -> k * (concat(y[1..], [0.0]) - 2y + concat([0.0], y[..-1])) - y^2, ones(20), (0.0, 1.0); method = m, rtol = 1e-9, atol = 1e-11,
  saveat = [1.0], sparse = way).values[0]^2)
for m in list(rodas5p(), radau5(), bdf()) {
  whole = grad(k -> decay(k, false, m))(3.0)
  for way in list("banded", "sparse") {
    assert(abs(grad(k -> decay(k, way, m))(3.0) / whole - 1) < 1e-6, "{m.name}, {way}: gradient")
    assert(abs(jvp(k -> decay(k, way, m), 3.0, 1.0)[1] / whole - 1) < 1e-6, "{m.name}, {way}: forward")
  }
}
second(way) = grad(grad(k -> decay(k, way, rodas5p())))(3.0)
second("banded") / second(false) - 1                   #~ 0 tol 1e-6
by_end(way) = jvp(T -> sum(ode((t, y) -> -t * y + concat(y[1..], [0.0]), ones(20), (0.0, T); method = rodas5p(), rtol = 1e-9, atol = 1e-11, sparse = way).values[-1]), 1.0, 1.0)[1]
by_end("banded")                                       #~ by_end(false) tol 1e-8
back = ode(together, exact[0], (3.0, 2.999); method = radau5(), rtol = 1e-9, atol = 1e-11, saveat = [2.999], sparse = "banded").values[0];
back                                                   #~ ode(together, y0, (0.0, 2.999); method = dop853(), rtol = 1e-11, atol = 1e-13, saveat = [2.999]).values[0] tol 1e-5

said(way) = try { ode(together, y0, (0.0, 1.0); sparse = way).stats.steps } catch m { m }
said("wide")                                           #> sparse = true, false, "banded" or "sparse", not "wide"
# A loop whose array extents are defined inside it continues as machine code; it
# calls solvers repeatedly.
total = 0.0
for k in 0..40 { total = total + ode(together, y0, (0.0, 1.0); method = radau5(), rtol = 1e-6, saveat = [1.0], sparse = true).values[0, 0] }
total / 40                                             #~ ode(together, y0, (0.0, 1.0); method = dop853(), rtol = 1e-9, saveat = [1.0]).values[0, 0] tol 1e-5
