# A square plate, clamped at its edges, under a uniform load: ΔΔu = 1 with u and
# its normal derivative zero on the boundary. It is stated once and solved by
# Chebyshev collocation and by finite differences. The results are compared with
# the deflection in the middle from textbooks (0.00126 of Timoshenko and
# Woinowsky-Krieger) and with each other; then follow its lowest frequencies.

problem plate {
  domain x in [0, 1], y in [0, 1]
  field u
  lap(lap(u)) == 1
  u == 0     at boundary
  ∂n(u) == 0 at boundary
}
a = solve(plate, chebyshev(n = 24))
b = solve(plate, fd(n = 41, order = 4))
print(
  "deflection in the middle {a.u(0.5, 0.5):.8f} (chebyshev, error about {a.error:.0e}), "
  "{b.u(0.5, 0.5):.8f} (fd)")
assert(abs(a.u(0.5, 0.5) - 0.00126532) < 1e-7)
assert(compare(a, b, tol = 1e-2).agree)

problem ringing {
  domain x in [0, 1], y in [0, 1]
  field u
  eigen λ
  lap(lap(u)) == λ*u
  u == 0     at boundary
  ∂n(u) == 0 at boundary
}
m = solve(ringing, chebyshev(n = 18, count = 3))
# Reference for 35.985: Leissa, Vibration of Plates, NASA SP-160 (1969).
print("frequencies {sqrt(m.λ)}")
assert(abs(sqrt(m.λ[0]) - 35.985) < 1e-2)

x = linspace(0, 1, 81)
heatmap(x, x, map(y -> map(z -> m.mode(1).u(z, y), x), x), title = "second mode of a clamped plate",
  xlabel = "x", ylabel = "y", file = "plate.png")
