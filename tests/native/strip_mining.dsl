# Strip mining: J'J is accumulated strip by strip when the matrix J is computed
# by rows and only multiplied by a transpose. Oracle: the same product of the
# stored matrix.
made(x, w) = map(t -> sin(w * t) + t * w^2, x)
gram(x, w) = {
  J = made(x, w)
  J' @ J
}
normal(x, w, r) = {
  J = made(x, w)
  (J' @ J, J' @ (r + x), sum(J; axis = 0))
}
cross(x, w, v) = made(x, w)' @ made(2x, v)
kept(x, w) = {
  J = made(x, w)
  (J' @ J, J)
}
own(J) = J' @ J
grid(n, a) = cos(iota(n) * a)
off(n, p) = {
  x = grid(n, 0.37)
  w = grid(p, 0.11)
  r = grid(n, 0.71)
  v = grid(p + 3, 0.23)
  J = made(x, w)
  G = own(J)
  (H, g, s) = normal(x, w, r)
  (K, L) = kept(x, w)
  A = gram(x, w)
  max(max(abs(A - G)), max(abs(A - A')), max(abs(H - G)), max(abs(K - G)), max(abs(L - J)), max(abs(g - J' @ (r + x))), max(abs(s - sum(J; axis = 0))),
      max(abs(cross(x, w, v) - J' @ made(2x, v))))
}
for n in [2500, 1, 200, 1023, 1024, 1025, 2048, 3100] { assert(off(n, 200) < 1e-10, "{n} rows: {off(n, 200)} off") }
off(700, 311) < 1e-10   #> true

# No rows.
max(abs(gram(grid(0, 1.0), grid(200, 0.3)))) == 0   #> true

# Derivatives of residuals with respect to weights, as in Gauss-Newton.
model(w, t) = tanh(sum(w * cos(t * iota(200))))
steps(w, x, y) = {
  J = map((t, u) -> grad(w -> model(w, t) - u)(w), x, y)
  (J' @ J, J' @ map((t, u) -> model(w, t) - u, x, y))
}
w = 0.01 * grid(200, 1.7)
x = grid(2100, 0.013)
y = sin(x)
(H, g) = steps(w, x, y)
J = jacobian(w -> map((t, u) -> model(w, t) - u, x, y))(w)
max(abs(H - own(J))) < 1e-9   #> true
max(abs(g - grad(w -> 0.5 * sum(map((t, u) -> (model(w, t) - u)^2, x, y)))(w))) < 1e-10   #> true
whole(w) = {
  J = jacobian(w -> map((t, u) -> model(w, t) - u, x, y))(w)
  J' @ J
}
max(abs(whole(w) - H)) < 1e-9   #> true
