#! error E0503 6:3-6:25 "this is second order in x and needs a condition on each of x = 0 and x = 1; x = 1 has none"
#! error E0503 6:3-6:25 "this is second order in y and needs a condition on each of y = 0 and y = 1; there is none"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  div((1 + x^2)*grad(u)) == 1
  u == 0 at left
}
