# Sums of derivatives: values and operation counts.
# autodiff/optimise/sum_pushdown.c pushes sums below contractions.
# autodiff/optimise/optimise.c takes gradients in forward mode where a program
# expands in the same directions. Oracle: closed forms, dense Hessians and
# central differences.
# Compiled for this machine only: it takes long, and is not about lanes and
# registers.

# ---- sums of second derivatives against closed forms

laplacian(x -> sum(x^4))([1.0, 2, 3])                #~ 12 * 14
laplacian(x -> sin(2x[0]) * exp(x[1]))([0.3, 0.5])   #~ -3 * sin(0.6) * exp(0.5)
laplacian(x -> 1 / sqrt(sum(x^2)))([0.3, -1.1, 0.7]) #~ 0 tol 1e-12
laplacian(x -> log(x[0]^2 + x[1]^2))([0.3, -1.1])    #~ 0 tol 1e-12
A = [2.0, 1, 0; 1, 3, -1; 0, -1, 4]
laplacian(x -> x @ A @ x)([0.2, 0.4, -1])            #~ 18
laplacian(x -> (x @ A @ x)^2)([0.2, 0.4, -1])        #~ {x = [0.2, 0.4, -1]; q = x @ A @ x; 36q + 8 * sum((A @ x)^2)}

# ---- networks: the trace of the Hessian, the complex step, single jets

rows(k, m, n) = sin(k + 1.7 * expand(iota(m), 1) + 0.9 * n * expand(iota(n), 0))
net(w, x) = sum(w.out * tanh(w.second @ tanh(w.first @ x + w.shift) + w.shift))
weights(d, n) = (first = rows(1, n, d), second = rows(2, n, n) / n, shift = sin(iota(n)), out = cos(iota(n)))
trace_of(w, x) = trace(hessian(x -> net(w, x))(x))
w2 = weights(2, 16)
w3 = weights(3, 16)
w5 = weights(5, 16)
p2 = [0.3, -0.2]
p3 = [0.3, -0.2, 0.7]
p5 = [0.3, -0.2, 0.7, 0.1, -0.5]
lap(w, x) = laplacian(x -> net(w, x))(x)
lap(w2, p2)                    #~ trace_of(w2, p2)
lap(w3, p3)                    #~ trace_of(w3, p3)
lap(w5, p5)                    #~ trace_of(w5, p5)
# Central differences of the gradient along each direction, which use no Taylor
# coefficient.
slope_of(w, x, d) = sum(d * (grad(y -> net(w, y))(x + 1e-5d) - grad(y -> net(w, y))(x - 1e-5d))) / 2e-5
lap(w3, p3)                    #~ slope_of(w3, p3, [1.0, 0, 0]) + slope_of(w3, p3, [0.0, 1, 0]) + slope_of(w3, p3, [0.0, 0, 1]) tol 1e-8
# One jet for each direction, weighted, with other terms in between.
along(w, x, d) = jet(s -> net(w, x + s * d), 0.0, (1.0, 0.0))[1]
one_by_one(w, x) = {
  (a, aa) = along(w, x, [1.0, 0, 0])
  (b, bb) = along(w, x, [0.0, 1, 0])
  (c, cc) = along(w, x, [0.0, 0, 1])
  2aa - a * b + (bb - 3c) + 0.5cc
}
one_by_one(w3, p3)           #~ {g = grad(x -> net(w3, x))(p3); h = hessian(x -> net(w3, x))(p3); 2h[0, 0] + h[1, 1] + 0.5h[2, 2] - g[0] * g[1] - 3g[2]}
# relu and products of networks, whose second derivatives contain selections and
# products.
bent(w, x) = sum(w.out * relu(w.second @ tanh(w.first @ x)) * (w.second @ sin(w.first @ x)))
laplacian(x -> bent(w3, x))(p3)      #~ trace(hessian(x -> bent(w3, x))(p3))
# Directional expansions: Δ² u = sum over i, j of u_iijj from fourth derivatives
# along e_i, e_i + e_j and e_i - e_j.
fourth(w, x, d) = 24 * taylor(s -> net(w, x + s * d), 0.0, 4)[4]
biharmonic(w, x) =
  (fourth(w, x, [1.0, 1]) + fourth(w, x, [1.0, -1])) / 6 + 2/3 * (fourth(w, x, [1.0, 0]) + fourth(w, x, [0.0, 1]))
biharmonic(w2, p2)           #~ laplacian(x -> laplacian(x -> net(w2, x))(x))(p2) tol 1e-10
cost(biharmonic, w2, p2) / cost(net, w2, p2) < 19    #> true

# ---- costs: the value, d first derivatives and one second-order coefficient;
# separate expansions of each direction take 2 d + 1
cost(lap, w2, p2) / cost(net, w2, p2) < 4       #> true
cost(lap, w3, p3) / cost(net, w3, p3) < 5       #> true
cost(lap, w5, p5) / cost(net, w5, p5) < 7       #> true
cost(one_by_one, w3, p3) / cost(net, w3, p3) < 5.2   #> true

# Another linear term shares the expansion: the time derivative of the heat
# equation.
heat(w, p, t) = {
  g = (p, t) -> net(w, [p[0], p[1], t])
  ∂(g, 1)(p, t) - 0.1 * laplacian(q -> g(q, t))(p)
}
heat(w3, p2, 0.7)            #~ {h = hessian(x -> net(w3, x))(p3); grad(x -> net(w3, x))(p3)[2] - 0.1 * (h[0, 0] + h[1, 1])}
cost(heat, w3, p2, 0.7) / cost(net, w3, p3) < 4.2    #> true

# ---- value, gradient and Laplacian at one point: the expansion contains the
# gradient

equation(w, x) = net(w, x) * sum(grad(x -> net(w, x))(x)) - lap(w, x)
cost(equation, w3, p3) / cost(lap, w3, p3) < 1.1       #> true
equation(w3, p3)             #~ net(w3, p3) * sum(grad(x -> net(w3, x))(p3)) - trace_of(w3, p3)
# A gradient alone uses reverse mode.
w4 = weights(4, 16)
slopes(w, x) = grad(x -> net(w, x))(x)
cost(slopes, w4, p5[..4]) / cost(net, w4, p5[..4]) < 3       #> true
value_and_grad(x -> net(w3, x))(p3)  #~ (net(w3, p3), slopes(w3, p3))
grad(x -> 3.0)([1.0, 2])     #> [0, 0]
hessian(x -> net(w3, x))(p3) #~ jacobian(x -> slopes(w3, x))(p3)

# ---- derivatives of these, over samples

X = rows(3, 20, 3)
loss(w, X) = mean(map(x -> equation(w, x)^2, X))
check_grad(w -> loss(w, X), w3).reverse_forward < 1e-12      #> true
check_grad(w -> loss(w, X), w3).differences < 1e-7           #> true
cost(w -> grad(w -> loss(w, X))(w), w3) / (20 * cost(net, w3, p3)) < 15  #> true
single = (first = f32(w3.first), second = f32(w3.second), shift = f32(w3.shift), out = f32(w3.out))
equation(single, f32(p3))    #~ equation(w3, p3) tol 2e-5
dtype(equation(single, f32(p3)))     #> f32

# ---- sums that stay in place: of values with other uses, of element-wise
# terms, inside loops

V = rows(4, 6, 6)
both(xs) = {
  y = map(x -> V @ x, xs)
  sum(y, axis = 0) + y[0]
}
both(rows(5, 4, 6))          #~ V @ sum(rows(5, 4, 6), axis = 0) + V @ rows(5, 4, 6)[0]
moved(xs) = sum(map(x -> V @ x, xs), axis = 0)
moved(rows(5, 4, 6))         #~ V @ sum(rows(5, 4, 6), axis = 0)
many = rows(5, 40, 6)
cost(moved, many) < cost(both, many) / 4     #> true
signs(a, b) = V @ a - (V @ b - V @ (2a))
signs(p5[[0, 1, 2, 3, 4, 0]], ones(6))       #~ V @ (3 * p5[[0, 1, 2, 3, 4, 0]] - 1)
cost(signs, ones(6), ones(6)) < 2 * 36 + 40  #> true
looped(xs) = {
  s = zeros(6)
  for i in 0..3 { s = s + V @ xs[i] - V @ s }
  s
}
looped(rows(5, 4, 6))        #~ {r = rows(5, 4, 6); s = V @ r[0]; t = s + V @ (r[1] - s); t + V @ (r[2] - t)}
weighted(a, b, x, y) = a * (V @ x) + b * (V @ y)
weighted(2.0, -3.0, ones(6), p5[[0, 1, 2, 3, 4, 0]]) #~ V @ (2 * ones(6) - 3 * p5[[0, 1, 2, 3, 4, 0]])
cost(weighted, 2.0, 3.0, ones(6), ones(6)) < 72 + 40 #> true
chosen(c, x, y) = where(c, V @ x, 0 * x) + where(c, V @ y, 0 * y)
chosen([true, false, true, true, false, true], ones(6), ones(6)) #~ where([true, false, true, true, false, true], 2 * (V @ ones(6)), zeros(6))

# ---- expansions along straight lines. Oracle: zeros that are known only at run
# time

powers(x, k) = if k == 0 { x } else { x * powers(sin(x), k - 1) }
winding(x) = {
  s = x
  for k in 0..3 { s = sin(s) * x + powers(x, 2) }
  s / (1 + x^2)
}
line(x, z) = jet(winding, x, (1.0, z, z, z))[1]
jet(winding, 0.7, (1.0, 0.0, 0.0, 0.0))[1]   #~ line(0.7, 0.0)
jet(winding, [0.7, -0.2], ([1.0, 2], 0.0, [0.0, 0]))[1] #~ jet(winding, [0.7, -0.2], ([1.0, 2], 0 * iota(2), 0 * iota(2)))[1]
taylor(winding, 0.7, 4)[1..] #~ {c = line(0.7, 0.0); [c[0], c[1] / 2, c[2] / 6, c[3] / 24]}
taylor(x -> linsolve([2 + x, 1; x^2, 3], [x, 1.0])[0], 0.3, 3)[3] #~ nth_derivative(x -> (3x - 1) / (6 + 3x - x^2), 0.3, 3) / 6
dtype(jet(sin, f32(0.3), (1.0, 0.0, 0.0))[1][2])     #> f32
