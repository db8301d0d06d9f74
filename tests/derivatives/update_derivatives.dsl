# Derivatives of all kinds through x[a..b] = e and += e. Oracle: matrices, the
# complex step and programs without updates.

# By hand: y = x with the interior replaced.
inside(x) = { x[1..-1] = x[..-2] * x[2..]; x }
x0 = 1 + f64(iota(20)) / 7
J = jacobian(inside)(x0)
[J[0, 0], J[3, 2], J[3, 3], J[3, 4], J[19, 19], J[19, 18]]     #~ [1, x0[4], 0, x0[2], 1, 0]
w = cos(iota(20))
back(f, x, w) = vjp(f, x)[1](w)
forth(f, x, dx) = jvp(f, x, dx)[1]
back(inside, x0, w)                     #~ J' @ w tol 1e-13
forth(inside, x0, w)                    #~ J @ w tol 1e-13
grad(x -> sum(w * inside(x)))(x0)       #~ J' @ w tol 1e-13
H = hessian(x -> sum(w * inside(x)))(x0)
[H[2, 4], H[4, 2], H[2, 2], H[0, 2], H[17, 19]]  #~ [w[3], w[3], 0, w[1], w[18]]

# Adding to a slice, in reverse order, with steps; two arrays at once.
parts(x, y) = {
  x[1..] += sin(x[..-1]) * y[1..]
  y[.. by -1] = y * x
  y[.. by 3] *= exp(-x[.. by 3])
  x[18..0 by -4] -= y[..5]^2
  sum(x * y)
}
y0 = sin(1.3f64(iota(20)) + 0.2)
# The same without updates.
same(x, y) = {
  x1 = concat(x[..1], x[1..] + sin(x[..-1]) * y[1..])
  y1 = flip(y * x1)
  y2 = [if i % 3 == 0 { y1[i] * exp(-x1[i]) } else { y1[i] } for i in 0..20]
  x2 = [if i % 4 == 2 { x1[i] - y2[(18 - i) // 4]^2 } else { x1[i] } for i in 0..20]
  sum(x2 * y2)
}
parts(x0, y0)                           #~ same(x0, y0) tol 1e-13
grad(parts)(x0, y0)                     #~ grad(same)(x0, y0) tol 1e-12
grad(y -> parts(x0, y))(y0)             #~ grad(y -> same(x0, y))(y0) tol 1e-12
h = 1e-30
cstep(i) = imag(parts(x0 + h * im * f64(iota(20) == i), y0 + 0im)) / h
grad(x -> parts(x, y0))(x0)[[0, 7, 18]] #~ [cstep(0), cstep(7), cstep(18)] tol 1e-12
turned(f) = (t -> grad(x -> f(x, y0))(x0 + t * w))'(0.0)
turned(parts)                           #~ turned(same) tol 1e-11
along(f) = t -> f(x0 + t * cos(x0), y0 + t * x0)
taylor(along(parts), 0.0, 6)            #~ taylor(along(same), 0.0, 6) tol 1e-10
along(parts)'''(0.1)                    #~ along(same)'''(0.1) tol 1e-9
grad(x -> sum(back(z -> parts(z, y0), x, 1.0)^2))(x0)   #~ grad(x -> sum(back(z -> same(z, y0), x, 1.0)^2))(x0) tol 1e-10

# In a loop: a linear map and its adjoint, and the derivative with respect to
# the coefficient.
heat(u, c, n) = {
  for k in 0..n {
    u[1..-1, 1..-1] += c * (u[..-2, 1..-1] + u[2.., 1..-1] + u[1..-1, ..-2] + u[1..-1, 2..] - 4u[1..-1, 1..-1])
    u[0, ..] = u[1, ..]
    u[.., -1] = 0.5u[.., -2]
  }
  u
}
U = sin(outer(f64(iota(18)), 0.3f64(iota(19))))
V = cos(outer(f64(iota(18)) + 0.4, 0.7f64(iota(19))))
sum(V * forth(u -> heat(u, 0.2, 5), U, V + U))       #~ sum(back(u -> heat(u, 0.2, 5), U, V) * (V + U)) tol 1e-12
(c -> sum(V * heat(U, c, 5)))'(0.2)     #~ imag(sum(V * heat(U + 0im, 0.2 + 1e-30im, 5))) / 1e-30 tol 1e-12
grad(c -> sum(V * heat(U, c, 5)))(0.2)  #~ imag(sum(V * heat(U + 0im, 0.2 + 1e-30im, 5))) / 1e-30 tol 1e-12
d2 = (c -> sum(heat(U, c, 4)^2))''(0.2)
(c -> grad(c -> sum(heat(U, c, 4)^2))(c))'(0.2)    #~ d2 tol 1e-11
taylor(c -> sum(heat(U, c, 4)^2), 0.2, 2)[2]       #~ d2 / 2 tol 1e-11
burgers(u, n) = { for k in 0..n { u[1..-1] -= 0.1u[1..-1] * (u[2..] - u[..-2]); u[..1] = u[-2..-1] }; u }
b0 = sin(0.3f64(iota(25)))
bstep(i) = imag(sum(w25 * burgers(b0 + 1e-30im * f64(iota(25) == i), 6))) / 1e-30
w25 = cos(f64(iota(25)))
grad(u -> sum(w25 * burgers(u, 6)))(b0)[[0, 1, 12, 23, 24]]    #~ [bstep(0), bstep(1), bstep(12), bstep(23), bstep(24)] tol 1e-12
while_burgers(u) = { while sum(u^2) > 8 { u[1..-1] -= 0.1u[1..-1] * (u[2..] - u[..-2]); u[..1] *= 0.5; u[-5..] *= 0.8 }; u }
wstep(i) = { f(h) = sum(w25 * while_burgers(b0 + h * f64(iota(25) == i))); (f(1e-6) - f(-1e-6)) / 2e-6 }
grad(u -> sum(w25 * while_burgers(u)))(b0)[[0, 3, 22]]         #~ [wstep(0), wstep(3), wstep(22)] tol 1e-7

# Batched.
M = [sin(f64(iota(20)) * (k + 1)) for k in 0..17]
map(inside, M)[5]                       #~ inside(M[5])
map(x -> grad(x -> sum(w * inside(x)))(x), M)[9]       #~ grad(x -> sum(w * inside(x)))(M[9]) tol 1e-13
map(x -> parts(x, y0), M)[3]            #~ parts(M[3], y0) tol 1e-13
map(k -> sum(burgers(b0 * k, 3)), f64(iota(20)))[7]    #~ sum(burgers(7b0, 3)) tol 1e-12
short(p) = { p[1..3] = p[..2] * p[2..]; p[0] = p[3]; p }
map(short, M[.., ..4])[8]               #~ short(M[8, ..4])
jacobian(p -> map(short, p))(M[.., ..4])[8, .., 8]     #~ jacobian(short)(M[8, ..4]) tol 1e-13

# Complex.
cz(z) = { z[1..] += z[..-1]^2; z[.. by -1] = 2im * z; z }
z0 = x0 + im * y0
forth(cz, z0, w + im * y0)[4]             #~ 2im * (w[15] + im * y0[15] + 2z0[14] * (w[14] + im * y0[14])) tol 1e-13
