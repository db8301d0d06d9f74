# operators.dsl - neural operators: maps between functions, learnt from pairs
# made by a solver.

# The antiderivative of a random quadratic, from values at 16 points: a linear
# map.
seed(1)
x = linspace(0, 1, 16)
A = randn(80, 3)
U = [A[i, 0] + A[i, 1]*x[k] + A[i, 2]*x[k]^2 for i, k]
V = [A[i, 0]*x[k] + A[i, 1]*x[k]^2/2 + A[i, 2]*x[k]^3/3 for i, k]
G = learn_operator(deeponet(16, 1, 10; hidden = [32]), U, V, x; epochs = 600, progress = false)
assert(G.error < 0.05 and G.error_held < 0.1, "{G.error} {G.error_held}")
# at points that were not used in training, and for a single function
u = 1 + 0*x
assert(max(abs(G.value(u, [0.25, 0.55]) - [0.25, 0.55])) < 0.08, "{G.value(u, [0.25, 0.55])}")
shape(G.value(u))             #> (16,)
shape(G.value(U, [0.1, 0.2])) #> (80, 2)

# Burgers' equation with periodic boundaries: a random initial function after
# half a unit of time, by a Fourier neural operator.
problem burgers(a, b) {
  domain t in [0, 0.5], x in [0, 2π] periodic
  field u
  u_t + u*u_x == 0.1u_xx
  u == sum(a[k]*cos((k+1)*x) for k) + sum(b[k]*sin((k+1)*x) for k) at t = 0
}
wave(a, b, x) = [sum(a[k]*cos((k+1)*x[i]) for k) + sum(b[k]*sin((k+1)*x[i]) for k) for i]
n = 80
xs = 2π * iota(32) / 32.0
P = 0.4randn(n, 2)
Q = 0.4randn(n, 2)
start = zeros(n, 32)
after = zeros(n, 32)
for i in 0..n {
  start[i] = wave(P[i], Q[i], xs)
  after[i] = solve(burgers(P[i], Q[i]), fourier(32), rtol = 1e-6, atol = 1e-8).u(0.5, xs)
}
seed(1)
F = learn_operator(fno(8, 8; layers = 2), start, after, xs; epochs = 150, progress = false)
assert(F.error < 0.05 and F.error_held < 0.1, "{F.error} {F.error_held}")
# The weights do not depend on the grid: a grid twice as fine gives the same
# function.
fine = 2π * iota(64) / 64.0
once = F.value(start[0], xs)
twice = F.value(wave(P[0], Q[0], fine), fine)
assert(norm(twice[.. by 2] - once) / norm(once) < 0.03, "{norm(twice[.. by 2] - once) / norm(once)}")
# The network has not learnt the identity: the result differs from the input.
assert(norm(after[0] - start[0]) / norm(start[0]) > 2F.error_held)
