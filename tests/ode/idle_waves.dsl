# Derivatives with respect to a parameter that excites other modes of a chain
# which swings in one normal mode; 40 to 240 unknowns. Oracle: closed forms.
# In a long check only: it takes half a minute.
slope(f) = jvp(f, 0.0, 1.0)[1]

# Chains of equal masses between walls, in one normal mode; a displaces one
# mass.
for n in (20, 60, 120) {
  shapes = sqrt(2/(n + 1))*sin(π*expand(iota(n) + 1.0, 1)*expand(iota(n) + 1.0, 0)/(n + 1))
  frequencies = 2sin(π*(iota(n) + 1.0)/(2n + 2))
  chain(t, y) = {
    u = y[..n]
    concat(y[n..], concat(u[1..], [0.0]) - 2u + concat([0.0], u[..-1]))
  }
  times = [3.3, 57.1, 200.0]
  pushed(a, m) = ode(chain, concat(shapes[0] + a*where(iota(n) == 7, 1.0, 0.0), zeros(n)), (0.0, 200.0); method = m, rtol = 1e-6, atol = 1e-8).y(times)[.., 7]
  wanted = map(t -> sum(shapes[7]^2*cos(frequencies*t)), times)
  for m in (auto(), tsit5(), dop853(), rodas5p(), radau5(), bdf(), adams()) {
    got = slope(a -> pushed(a, m))
    # The bounds are those of idle_modes.dsl, scaled for 400 radians.
    assert(max(abs(got - wanted)) < (if m.name == "bdf" or m.name == "adams" { 1e-3 } else { 1e-4 }), "{m.name} of {n}: {got}, not {wanted}")
  }
  asked(a, m) = ode(chain, concat(shapes[0] + a*where(iota(n) == 7, 1.0, 0.0), zeros(n)), (0.0, 200.0); method = m, rtol = 1e-6, atol = 1e-8, saveat = times).values[.., 7]
  for m in (auto(), dop853(), rodas5p(), radau5()) {
    got = slope(a -> asked(a, m))
    assert(max(abs(got - wanted)) < 1e-4, "{m.name} of {n}, at some times: {got}, not {wanted}")
  }
}
