# Two shear layers roll up into vortices: the Navier-Stokes equations in the
# plane, in vorticity and stream function. The stream function has no time
# derivative; fourier() solves for it mode by mode, and steps by exponential
# time differencing. The same problem with other initial values has an exact
# solution (Taylor and Green 1937), which is checked first.

problem flow(ν, start) {
  domain t in [0, 8], x in [0, 2π] periodic, y in [0, 2π] periodic
  field ω, ψ
  ω_t + ψ_y*ω_x - ψ_x*ω_y == ν*lap(ω)
  lap(ψ) == -ω
  ω == start(x, y) at t = 0
}

# The vortices of Taylor and Green.
taylor_green(x, y) = 2cos(x)*cos(y)
g = solve(flow(0.05, taylor_green), fourier(n = 16), t = (0, 1), rtol = 1e-9)
off = abs(g.ω(1, 0.3, 0.4) - exp(-0.1)*taylor_green(0.3, 0.4))
print("Taylor and Green: off by {off:.1e}")
assert(off < 1e-8)

# The layers, of width 1/ρ (Bell, Colella and Glaz 1989): u = tanh(ρ(y - π/2))
# below, tanh(ρ(3π/2 - y)) above, v = 0.05 sin x.
ρ = 15/π
layers(x, y) = 0.05cos(x) - (if y <= π { ρ*sech(ρ*(y - π/2))^2 } else { -ρ*sech(ρ*(3π/2 - y))^2 })
times = [0.0, 2.0, 4.0, 6.0]
s = solve(flow(2e-3, layers), fourier(n = 96, dealias = true), rtol = 1e-5, saveat = times)
vorticity = s.values[.., ..96^2]
enstrophy = mean(vorticity^2; axis = 1)
print("{s.stats.steps} steps; mean vorticity {mean(vorticity[-1]):.1e}, enstrophy {enstrophy}")
assert(abs(mean(vorticity[-1])) < 1e-5)
assert(enstrophy[3] < enstrophy[0])

x = s.grid[0]
heatmap(x, x, reshape(vorticity[-1], 96, 96), title = "vorticity at t = 6", xlabel = "x",
  ylabel = "y", file = "vortices.png")
