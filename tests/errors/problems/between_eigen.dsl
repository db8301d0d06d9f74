#! error E0503 2:9-2:13 "`beam` takes 3 conditions at the ends of x, one of them for the eigenvalue; there are 2"
problem beam {
  domain x in [0, 1]
  field u
  eigen λ
  u_xx == -λ*u
  u == 0 at x = 0, x = 1
}
