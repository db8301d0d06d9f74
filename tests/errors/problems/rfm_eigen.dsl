#! error E0505 10:5-10:25 "rfm() does not serve eigenproblems"
problem tone {
  domain x in [0, 1]
  field u
  eigen λ
  u_xx == -λ*u
  u == 0 at x = 0, x = 1
  u_x == 1 at x = 0
}
s = solve(tone, rfm(50))
