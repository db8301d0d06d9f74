#! error E0505 7:1 "collocation() does not serve the events of line"
problem line {
  domain x in [0, 1]
  field u
  u_xx == 1; u == 0 at x = 0, x = 1
  event half: u falling }
solve(line, collocation())
