# Energies of a quantum particle in the potential x^2/2 + g x^4, and their
# derivatives with respect to g: perturbation theory by differentiation.

x = linspace(-6.0, 6.0, 241)
h = x[1] - x[0]
n = len(x)
kinetic = (2eye(n) - f64(abs(expand(iota(n), 1) - iota(n)) == 1)) / 2h^2
levels(g) = eigh(kinetic + diag(0.5x^2 + g*x^4))[0][..4]

print("without g: {levels(0.0)}")                        # 0.5, 1.5, 2.5, 3.5 up to h^2
assert(max(abs(levels(0.0) - [0.5, 1.5, 2.5, 3.5])) < 5e-3)

# First-order perturbation theory gives 3/4 (2n^2 + 2n + 1), the second order of
# the ground state -21/8.
(E, E1) = jvp(levels, 0.0, 1.0)
print("dE/dg: {E1}")
assert(max(abs(E1 / [0.75, 3.75, 9.75, 18.75] - 1)) < 0.02)
E2 = (g -> levels(g)[0])''(0.0) / 2
print("second order of the ground state {E2:.3f}, theory -2.625")
assert(abs(E2 + 2.625) < 0.03)

ψ = eigh(kinetic + diag(0.5x^2 + 0.1x^4))[1] / sqrt(h)          # so that the integral of ψ^2 is 1
plot(x, ψ[.., 0], ψ[.., 1], ψ[.., 2], labels = list("n = 0", "n = 1", "n = 2"),
  file = "oscillator.png", title = "x^2/2 + 0.1 x^4", xlabel = "x", ylabel = "ψ")
