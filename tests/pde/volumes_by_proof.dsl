# What fv() takes is proven from the equations, not seen in the cells at the beginning: a rate whose factor changes
# later, terms that are linear in derivatives only where these are small, and factors that later are fields.
problem later {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  (if t < 0.5 { 1.0 } else { 5.0 }) * u_t + u_x == 0
  u == 2 + sin(2π * x) at t = 0
}
problem above {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  (if u < 3.5 { 1.0 } else { 5.0 }) * u_t + u_x == 2.0
  u == 2 + sin(2π * x) at t = 0
}
problem limited {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  max(u_t, -100.0) + u_x == 0
  u == 2 + sin(2π * x) at t = 0
}
problem narrow {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + u_x * (if u_x < 50.0 { 1.0 } else { 3.0 }) == 0
  u == 2 + (if abs(x - 0.503) < 0.003 { 1.0 } else { 0.0 }) at t = 0
}
problem coupled {
  domain t in [0, 1], x in [0, 1] periodic
  field u, v
  u_t + v_x == 0
  v_t + (if t < 0.5 { 1.0 } else { u }) * u_x == 0
  u == 2 + sin(2π * x) at t = 0
  v == 2 + sin(2π * x) at t = 0
}
said(p) = try { solve(p, fv(n = 50)); "nothing" } catch e { e }
for p in list(later, above, limited) {
  assert(find(said(p), "with coefficient 1 in its equation") > 0, "{said(p)}")
}
find(said(narrow), "to stand linearly") > 0     #> true
find(said(coupled), "where a is constant") > 0     #> true

# what is proven to be one is taken: parameters, several fields, a vector, factors of the place and the field
problem plain(c) {
  domain t in [0, 1], x in [0, 1] periodic
  field u, w[2]
  0 == -u_t - c * u_x
  w_t + 2c * w_x == [0.0, 0.0]
  u == 2 + sin(2π * x) at t = 0
  w == [sin(2π * x), cos(2π * x)] at t = 0
}
s = solve(plain(0.25), fv(n = 400), estimate = false);
s.u(1.0, 0.3)     #~ 2 + sin(0.1π) tol 1e-3
s.w(1.0, 0.3)     #~ [sin(-0.4π), cos(-0.4π)] tol 1e-3
