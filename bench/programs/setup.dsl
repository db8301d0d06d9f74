# setup.dsl - set-up of a large time-dependent problem, before the first step.
#
# The problem is the periodic Brusselator in two dimensions on N x N points by
# BDF. scripts/bench/bench_setup.sh appends the call.

problem brusselator(A = 3.4, α = 0.1) {
  domain t in [0, 1], x in [0, 1] periodic, y in [0, 1] periodic
  field u, v
  u_t == 1 + u^2*v - (A + 1)*u + α*Δ(u)
  v_t == A*u - u^2*v + α*Δ(v)
  u == 22*y*(1 - y)^1.5 at t = 0
  v == 27*x*(1 - x)^1.5 at t = 0
}

# some steps of 1e-10, of which the first has all there is to make
first_steps(N) = {
  s = solve(brusselator(), fd(N, 2); t = (0.0, 1e-9), saveat = [1e-9], progress = false,
    estimate = false)
  print(s.stats.steps)
}
