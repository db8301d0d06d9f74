#! error E0602 3:60 "cannot write f64[len(run) - 1] into f64[20]"
# a right-hand side whose slopes are one too few
chain(k) = (t, y) -> { f = zeros(20); f[0] = -k[0] * y[0]; f[..] = k[0] * y[..-1] - k[1] * y[1..]; f }
left(k) = { y = zeros(20); y[[0]] = [1.0]; ode(chain(k), y, (0.0, 1.0); rtol = 1e-10, atol = 1e-12).y(0.0)[1] }
grad(left)([1.0, 2.0])[1]   #~ -exp(-1) + 2exp(-2) tol 1e-7
