# Three bodies follow each other along a figure of eight (Moore 1993, Chenciner
# and Montgomery 2000), by a symplectic method of order four.

acceleration(q) =
  [sum(if k == i {
    0.0
  } else {
    (q[k, d] - q[i, d]) / norm(q[k] - q[i])^3
  } for k in 0..3) for i in 0..3, d in 0..2]
energy(q, v) = 0.5sum(v^2) - 1/norm(q[0] - q[1]) - 1/norm(q[1] - q[2]) - 1/norm(q[2] - q[0])

# Yoshida's composition of three leapfrog steps.
step(q, v, h) = {
  w = 1 / (2 - 2^(1/3))
  for s in [w, 1 - 2w, w] {
    v = v + 0.5h*s * acceleration(q)
    q = q + h*s * v
    v = v + 0.5h*s * acceleration(q)
  }
  (q, v)
}

a = [0.97000436, -0.24308753]
b = [-0.93240737, -0.86473146]
q = [a, -a, [0.0, 0.0]]
v = [-0.5b, -0.5b, b]
(e0, q0, period, n) = (energy(q, v), q, 6.32591398, 1000)
path = zeros(n, 3, 2)
for k in 0..n {
  (q, v) = step(q, v, period / n)
  path[k] = q
}
print(
  "after one period: energy changed by {abs(energy(q, v) - e0):.1e}, places by {norm(q - q0):.1e}")
assert(abs(energy(q, v) - e0) < 1e-9 and norm(q - q0) < 1e-5)
plot(path[.., 0, 0], path[.., 0, 1], file = "eight.png", title = "three bodies, one path",
  xlabel = "x", ylabel = "y")
