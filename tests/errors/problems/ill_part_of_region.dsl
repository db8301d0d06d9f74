#! error E0504 7:13-7:19 "no part of the boundary of this region is called `circel`; did you mean `circle`?" second 4:10 "the region is here"
disc = (lo = [-1.0, -1], hi = [1.0, 1], names = list("circle"))
problem p {
  domain (x, y) in disc
  field u
  -Δ(u) == 1
  u == 0 at circel
}
solve(p, (name = "look", solve = (info, m, o) -> info.type));
