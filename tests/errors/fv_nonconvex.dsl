#! error E0604 8:1-8:45 "fv(flux = \"godunov\") wants a flux that is convex or concave, and this one is neither between 0.00818418 and 0.991816; \"rusanov\" takes any"
problem buckley {
  domain t in [0, 1], x in [0, 1] periodic
  field u
  u_t + ∂x(u^2/(u^2 + (1 - u)^2)) == 0
  u == 0.5 + 0.5*sin(2π*x) at t = 0
}
solve(buckley, fv(n = 10, flux = "godunov"));
