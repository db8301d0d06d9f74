#! error E0505 9:9-9:54 "dae has no derivative with respect to the times at which the solution is wanted"
problem linked() {
  domain t in [0, 2]
  field a, b
  a_t == -2 * b
  0 == b - a
  a == 1 at t = 0
}
at(T) = solve(linked(), bdf(), saveat = [0.5 * T, T]).values[-1, 0]
at'(1.0)
