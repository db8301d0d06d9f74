# The potential in a square box with one side at 1 and the others at 0, by
# relaxation in index notation, compared with the Fourier series.

relax(u, ω, sweeps) = {
  n = len(u)
  i = expand(iota(n), 1) + iota(n)
  for k in 0..sweeps {
    for colour in 0..2 {
      r[i, j] := 0.25(u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1]) - u[i, j] for i in 1..n-1,
        j in 1..n-1
      u[1..-1, 1..-1] += ω * where(i[1..-1, 1..-1] % 2 == colour, r, 0)
    }
  }
  u
}

n = 65
u = zeros(n, n)
u[0] = 1
u = relax(u, 2 / (1 + sin(π / (n - 1))), 200)

# u(x, y) = sum over odd k of 4/(kπ) sin(kπx) sinh(kπ(1-y)) / sinh(kπ)
series(x, y) =
  sum(4/(k*π) * sin(k*π*x) * sinh(k*π*(1 - y)) / sinh(k*π) for k in 1..60 if k % 2 == 1)
print(
  "in the middle {u[32, 32]:.6f}, by symmetry 1/4; at (1/4, 1/4) {u[16, 16]:.6f}, series "
  "{series(0.25, 0.25):.6f}")
assert(abs(u[32, 32] - 0.25) < 1e-6 and abs(u[16, 16] - series(0.25, 0.25)) < 1e-3)
x = linspace(0, 1, n)
heatmap(x, x, u', aspect = 1, xlabel = "x", ylabel = "y", zlabel = "potential",
  file = "laplace.png")
