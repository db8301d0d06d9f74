#! error E0701 10:1 "no solution beyond t = 0: the right-hand side is not finite at t = 0 (the rate of b), whatever the step; the last values are a = 1, b = -1" hint "a division by zero, or a root or logarithm of a negative number? nan_check(f, t, y; inf = true) at the initial value names it"
problem root_of_negative() {
  domain t in [0, 1]
  field a, b
  a_t == -a
  b_t == sqrt(b)
  a == 1 at t = 0
  b == -1 at t = 0
}
solve(root_of_negative(), bdf())
