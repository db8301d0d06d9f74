# Training on random batches of the data, and the logsumexp and softmax of
# network outputs.

# ---- a straight line: every method; the record keeps its form, losses decrease
seed(3)
X = linspace(-1.0, 1, 96)
loss(w, i) = mean((w.a * X[i] + w.b - (3X[i] + 1))^2)
for method in list(adam(rate = 0.05), adamw(rate = 0.05, decay = 0.0), nadam(rate = 0.05), rmsprop(rate = k -> 0.3 / sqrt(k)), gradient_descent(rate = 0.1, momentum = 0.5)) {
  r = train(loss, (a = 0.0, b = 0.0), 96, method; batch = 16, epochs = 80)
  assert(abs(r.x.a - 3) < 0.05 and abs(r.x.b - 1) < 0.05, method.name)
  assert(r.steps == 480 and len(r.losses) == 80 and r.losses[-1] < 1e-2 * r.losses[0], method.name)
}

# ---- each index occurs once an epoch
# With a loss that is linear in its rows and plain gradient steps, the result is
# the sum of all indices.
r = train((w, i) -> w[0] * sum(f64(i)), [0.0], 12, gradient_descent(rate = 1.0); batch = 4, epochs = 2)
r.x                          #> [-132]
# An incomplete batch is dropped: 12 of 13 indices, with a sum between 66 and
# 78.
r = train((w, i) -> w[0] * sum(f64(i)), [0.0], 13, gradient_descent(rate = 1.0); batch = 4, epochs = 1)
r.x[0] >= -78 and r.x[0] <= -66    #> true
r.steps                      #> 3

# ---- the same seed gives the same weights
once() = { seed(11); train(loss, (a = 0.0, b = 0.0), 96, adam(); epochs = 3).x.a }
once() == once()             #> true

# ---- invalid batches
try { train(loss, (a = 0.0, b = 0.0), 96; batch = 97) } catch m { m }    #> train: a batch of 97 cannot be drawn from 96
try { train(loss, (a = 0.0, b = 0.0), 96; batch = 0) } catch m { m }     #> train: a batch of 0 cannot be drawn from 96

# ---- a loss that is not finite reports the step
# Partial results are those before it.
wild = (w, i) -> log(1.5 - w[0])
m = try { train(wild, [1.0], 12, gradient_descent(rate = 0.4); batch = 4, epochs = 5); "" } catch m { m }
contains(m, "the loss is nan") and contains(m, "in epoch 1, after 1 steps")        #> true
r = train(wild, [1.0], 12, gradient_descent(rate = 0.4); batch = 4, epochs = 5, partial = true)
(r.steps, isfinite(r.x[0]), isnan(r.losses[4]))      #> (1, true, true)

# ---- logsumexp and softmax at the ends of the range
logsumexp([-inf, -inf])      #> -inf
logsumexp([-inf, 0.0])       #> 0.0
logsumexp([inf, 0.0])        #> inf
logsumexp([-1000.0, -1000])  #~ log(2) - 1000
softmax([-inf, 0.0, 0.0])    #~ [0, 0.5, 0.5]
softmax([1e308, -1e308])     #> [1, 0]
x = [0.3, -1.2; 2.0, 0.1; -0.5, 0.9]
softmax(x)                   #~ exp(x) / sum(exp(x); axis = 1, keepdims = true)
softmax(x; axis = 0)         #~ exp(x) / sum(exp(x); axis = 0, keepdims = true)
logsumexp(x)                 #~ log(sum(exp(x)))
logsumexp(x; axis = 0)       #~ log(sum(exp(x); axis = 0))
shape(logsumexp(x; axis = -1))    #> (3,)
# The gradient of logsumexp is softmax, which gives the second derivative.
grad(logsumexp)(x[.., 0])    #~ softmax(x[.., 0])
p = softmax(x[.., 0])
hessian(logsumexp)(x[.., 0]) #~ diag(p) - expand(p, 1) * p
jacobian(softmax)(x[.., 0])  #~ diag(p) - expand(p, 1) * p
c = check_grad(x -> sum(softmax(x)^2), x)
c.reverse_forward < 1e-14 and c.differences < 1e-8    #> true
