# fv() proves from the equations that it may solve them; it does not sample
# initial values. Refused: a rate whose coefficient changes later, terms that
# are linear in derivatives only where these are small, and coefficients that
# depend on fields later.
# In a long check only: it takes half a minute.
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
  assert(find(said(p), "with a number as its factor") > 0, "{said(p)}")
}
find(said(narrow), "to stand linearly") > 0     #> true
find(said(coupled), "where a is constant") > 0     #> true

# Accepted by proof: parameters, several fields, a vector, coefficients that
# depend on x and on the field.
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

# The coefficient of a rate may be any constant: heat capacities, signs,
# parameters.
problem scaled(c) {
  domain t in [0, 0.2], x in [0, 1] periodic
  field u, w[2]
  c * u_t + ∂x(c * u^2/2) == 0.01c * u_xx
  0 == -3w_t - 1.5 * w_x
  u == 2 + sin(2π * x) at t = 0
  w == [sin(2π * x), cos(2π * x)] at t = 0
}
at = [0.1, 0.35, 0.6];
one = solve(scaled(1.0), fv(n = 50), estimate = false);
for c in list(2.0, -3.0, 1e6, 1e-9) {
  s = solve(scaled(c), fv(n = 50), estimate = false)
  assert(max(abs(s.u(0.2, at) - one.u(0.2, at))) < 1e-13, "times {c}")
}
one.w(0.2, 0.3)     #~ [sin(0.4π), cos(0.4π)] tol 5e-3
(c -> solve(scaled(c), fv(n = 50), estimate = false).w(0.2, 0.3))'(2.0)     #~ [0, 0] tol 1e-13
conservation(scaled(2.0))
#> u_t + 0.5*∂x(c * u^2/2) == 0.5*(0.01c * u_xx)
#> w_t + 0.5*w_x == 0, with the flux of w_x by integration
# Inflow and source: 2 u_t == ..., so half of both is present at the end.
problem rod {
  domain t in [0, 1], x in [0, 1]
  field u
  2u_t == 0.02 * u_xx + 2
  u == 0 at t = 0
  -0.02 * u_x == 1 at x = 0
  u_x == 0 at x = 1
}
r = solve(rod, fv(n = 50), estimate = false);
integrate(x -> r.u(1, x), 0, 1)     #~ 1.5 tol 1e-9

# Loss of hyperbolicity: between its two phases, a fluid has no real speed of
# sound. With two unknowns, and with three.
problem fluid {
  domain t in [0, 0.5], x in [-1, 1]
  field v, u
  v_t - u_x == 0
  u_t + ∂x(v - v^3) == 0
  v == (if x < 0 { -1.0 } else { -0.7 }) at t = 0
  u == (if x < 0 { -1.0 } else { 1.0 }) at t = 0
}
problem carried {
  domain t in [0, 0.5], x in [-1, 1]
  field v, u, w
  v_t - u_x == 0
  u_t + ∂x(v - v^3) == 0
  w_t + w_x == 0
  v == (if x < 0 { -1.0 } else { -0.7 }) at t = 0
  u == (if x < 0 { -1.0 } else { 1.0 }) at t = 0
  w == sin(π * x) at t = 0
}
find(said(fluid), "there are no waves between two states") > 0     #> true
find(said(carried), "are not real at t = 0.01") > 0     #> true
# speeds that are constant in space have a derivative
problem ring(c) {
  domain t in [0, 0.2], x in [0, 1] periodic
  field w[2]
  w_t + 0.5c * w_x == [0.0, 0.0]
  w == [sin(2π * x), cos(2π * x)] at t = 0
}
moved(c) = solve(ring(c), fv(n = 50), estimate = false).w(0.2, 0.3)
moved'(1.0)     #~ (moved(1.001) - moved(0.999))/0.002 tol 1e-5

# Conditions at ends, analysed from their code: fv() satisfies those that it
# supports and refuses the others. The steady states are straight lines.
problem crossed {
  domain t in [0, 5], x in [0, 1]
  field a, b
  a_t == a_xx
  b_t == b_xx
  a == 1 at t = 0
  b == 0 at t = 0
  a == 1 at left
  b == 0 at left
  a_x == -b at right
  b_x == a at right
}
s = solve(crossed, fv(n = 10), estimate = false);
[s.a(5, 1), s.b(5, 1)]     #~ [0.5, 0.5] tol 1e-4
# Contact: of two conditions, one for each field, in any order.
problem contact {
  domain t in [0, 5], x in [0, 1]
  field a, b
  a_t == a_xx
  b_t == b_xx
  a == 1 - x at t = 0
  b == 0 at t = 0
  a == 1 at left
  b == 0 at left
  a == b at right
  a_x == -b_x at right
}
s = solve(contact, fv(n = 10), estimate = false);
[s.a(5, 0.5), s.b(5, 0.5)]     #~ [0.75, 0.25] tol 1e-4
# A rate at the end is refused. So is an impedance condition, which depends on
# the waves; the default is another method.
problem rated {
  domain t in [0, 1], x in [0, 1]
  field u
  u_t == u_xx
  u == 1 - x at t = 0
  u == 1 at x = 0
  u_t + 2u_x == 0 at x = 1
}
problem impeded {
  domain t in [0, 1], x in [0, 1]
  field p, v
  p_t + ∂x(v) == 0
  v_t + ∂x(p) == 0
  p == 1 - x at t = 0
  v == 0 at t = 0
  p == 1 at x = 0
  v == p/3 at x = 1
}
find(said(rated), "no rates and no other derivatives") > 0     #> true
find(said(impeded), "fd() meets such conditions") > 0     #> true
find(explain(impeded), "solve() takes fd(") > 0     #> true
# a condition for each component of a vector
problem parts {
  domain t in [0, 0.2], x in [0, 1]
  field v[2]
  v_t == 0.1 * v_xx
  v == [sin(π * x), 2sin(π * x)] at t = 0
  v[0] == 0 at boundary
  v[1] == 0 at boundary
}
solve(parts, fv(n = 40), estimate = false).v(0.2, 0.5)     #~ [1, 2] * exp(-0.02π^2) tol 1e-3
# q_x is a flux, as ∂x(q) is, beside an explicit one
problem dam {
  domain t in [0, 0.1], x in [0, 1]
  field a, q
  a_t + q_x == 0
  q_t + ∂x(q^2/a + 9.81 * a^2/2) == 0
  a == (if x < 0.5 { 1.0 } else { 0.5 }) at t = 0
  q == 0 at t = 0
  a_x == 0 at boundary
  q_x == 0 at boundary
}
find(explain(dam), "solve() takes fv()") > 0     #> true
