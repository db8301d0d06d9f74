#! error E0505 10:1-10:27 "fv() finds the flux of a(u)*u_x for one field, or where a is constant; of a system of other form, write what is conserved: q_t + ∂x(f(q)) == s"
problem shallow {
  domain t in [0, 1], x in [0, 1] periodic
  field h, u
  h_t + u*h_x + h*u_x == 0
  u_t + u*u_x + h_x == 0
  h == 1 + 0.1*sin(2π*x) at t = 0
  u == 0 at t = 0
}
solve(shallow, fv(n = 10));
