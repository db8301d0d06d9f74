#! error E0604 10:1 "element 1 of the right-hand side is not finite there, nan; the values are y = [1, -1], where y = (a, b)"
problem root_of_negative() {
  domain t in [0, 1]
  field a, b
  a_t == -a
  b_t == sqrt(b)
  a == 1 at t = 0
  b == -1 at t = 0
}
solve(root_of_negative(), rodas5p())
