# Incompressible flow on periodic boxes: div(v) == 0 holds exactly, and the
# pressure follows mode by mode.
# In a long check only: it takes half a minute.

# Drifting Taylor-Green vortices: an exact solution (G. I. Taylor and A. E.
# Green, Proc. R. Soc. A 158, 1937, in a moving frame).
problem vortices(ν = 0.1) {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic
  field v[2], p
  v_t + v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  v == [1 + sin(x)*cos(y), 0.5 - cos(x)*sin(y)] at t = 0
  p == exp(-4ν*t)*(cos(2*(0.1 - t)) + cos(2*(0.2 - 0.5t)))/4 at (0.1, 0.2)
}
flow(t, x, y) = [1 + exp(-0.2t)*sin(x - t)*cos(y - 0.5t), 0.5 - exp(-0.2t)*cos(x - t)*sin(y - 0.5t)]
pressure(t, x, y) = exp(-0.4t)*(cos(2(x - t)) + cos(2(y - 0.5t)))/4
s = solve(vortices(), fourier(16); rtol = 1e-9, atol = 1e-11);
s.v(1.0, 0.7, 2.1)            #~ flow(1.0, 0.7, 2.1) tol 1e-7
s.p(1.0, 0.7, 2.1)            #~ pressure(1.0, 0.7, 2.1) tol 1e-7
s.v(0.3, 0.7, 2.1)            #~ flow(0.3, 0.7, 2.1) tol 1e-7
s.p(0.3, 0.7, 2.1)            #~ pressure(0.3, 0.7, 2.1) tol 1e-7
# The divergence of the interpolating polynomial, by derivatives of the
# solution.
∂(x -> s.v(1.0, x, 2.1)[0], 0)(0.7) + ∂(y -> s.v(1.0, 0.7, y)[1], 0)(2.1)     #~ 0.0 tol 1e-10

# Order 4 in time, against small steps, for a flow without an exact solution: a
# perturbed shear layer.
problem shear(ν = 0.05) {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic
  field v[2], p
  v_t + v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  v == [sin(y) + 0.5sin(2y), 0.3sin(x) + 0.1cos(3x)] at t = 0
}
layer(h) = solve(shear(), fourier(24; time = etdrk4(h)); saveat = [1.0]).values[0]
best = layer(1/128);
abs(log2(norm(layer(1/8) - best)/norm(layer(1/16) - best)) - 4) < 0.2    #> true

# the same flow by vorticity and stream function, without a pressure
problem stirred(ν = 0.05) {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic
  field ω, ψ
  ω_t + ψ_y*ω_x - ψ_x*ω_y == ν*Δ(ω)
  Δ(ψ) == -ω
  ω == 0.3cos(x) - 0.3sin(3x) - cos(y) - cos(2y) at t = 0
}
a = solve(shear(), fourier(32); rtol = 1e-8);
b = solve(stirred(), fourier(32); rtol = 1e-8);
a.v(1.0, 1.0, 2.0)            #~ [∂(y -> b.ψ(1.0, 1.0, y), 0)(2.0), -∂(x -> b.ψ(1.0, x, 2.0), 0)(1.0)] tol 1e-6

# Stokes flow with a different viscosity in each direction, so that the
# projection and the linear part do not commute. One mode decays exponentially:
# v = ∇×ψ, ψ = cos(x + 2y), so v = [-2, 1] sin(x + 2y) up to sign. The rate is
# the mean of the viscosities, weighted by the squared components.
problem laminar {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic
  field u, w, p
  u_t == -p_x + 0.1Δ(u)
  w_t == -p_y + 0.3Δ(w)
  u_x + w_y == 0
  u == -2sin(x + 2y) at t = 0
  w == sin(x + 2y)   at t = 0
}
r = solve(laminar, fourier(8); rtol = 1e-9);
[r.u(1.0, 0.3, 0.4), r.w(1.0, 0.3, 0.4)]     #~ exp(-5*(4*0.1 + 0.3)/5)*sin(1.1)*[-2, 1] tol 1e-8

# Three dimensions: an Arnold-Beltrami-Childress flow keeps its shape.
problem helical(ν = 0.2) {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic, z in [0, 2π] periodic
  field v[3], p
  v_t + v·grad(v) == -grad(p) + ν*Δ(v)
  div(v) == 0
  v == [sin(z) + 0.5cos(y), 0.7sin(x) + cos(z), 0.5sin(y) + 0.7cos(x)] at t = 0
}
h = solve(helical(), fourier(8); rtol = 1e-8, saveat = [1.0]);
h.v(1.0, 0.3, 0.5, 0.7)       #~ exp(-0.2)*[sin(0.7) + 0.5cos(0.5), 0.7sin(0.3) + cos(0.7), 0.5sin(0.5) + 0.7cos(0.3)] tol 1e-7

# Driven by heat: the temperature is one more unknown of the flow.
problem plume {
  domain t in [0, 0.5], x in [0, 2π] periodic, y in [0, 2π] periodic
  field v[2], p, T
  v_t == -grad(p) + Δ(v) + [0, T]
  T_t + v·grad(T) == Δ(T)
  div(v) == 0
  v == [0, 0] at t = 0
  T == cos(x) at t = 0
}
# Advection leaves the temperature unchanged: T = e^-t cos x, v = [0, t e^-t cos
# x].
q = solve(plume, fourier(8); rtol = 1e-9);
q.v(0.5, 0.3, 1.0)            #~ [0, 0.5exp(-0.5)*cos(0.3)] tol 1e-8
q.T(0.5, 0.3, 1.0)            #~ exp(-0.5)*cos(0.3) tol 1e-8

# a derivative with respect to the viscosity
loss(ν) = sum(solve(vortices(ν = ν), fourier(8; time = etdrk4(0.05)); saveat = [1.0]).values[0][..64]^2)
∂(loss, 0)(0.1)                  #~ (loss(0.1001) - loss(0.0999))/0.0002 tol 1e-4

# initial values that violate the constraint
problem sources {
  domain t in [0, 1], x in [0, 2π] periodic, y in [0, 2π] periodic
  field v[2], p
  v_t == -grad(p) + Δ(v)
  div(v) == 0
  v == [sin(x), sin(x)] at t = 0
}
try { solve(sources, fourier(8)).p(1.0, 0, 0) } catch m { m }    #> sources: the initial values do not satisfy `div(v) == 0`: 70.7 % of them do not
