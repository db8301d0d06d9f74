# Derivatives with respect to a parameter that excites a mode which the solution
# does not have, though all unknowns move. The error of the solution does not
# limit the step size for such modes. Oracle: closed forms.

# Oscillators mixed by a random rotation. The slow ones swing; a is the
# amplitude of the fast ones.
seed(11)
ω = [0.3, 0.8, 7.0, 12.0]
(Q, _) = qr(randn(4, 4))
K = Q @ diag(ω^2) @ Q'
slow = Q @ [1.0, -0.7, 0, 0]
fast = Q @ [0, 0, 1.0, 0.5]
rates(t, y) = concat(y[4..], -(K @ y[..4]))
at = [0.7, 11.3, 30.0]
swing(a, m) = ode(rates, concat(slow + a*fast, zeros(4)), (0.0, 30.0); method = m, rtol = 1e-7, atol = 1e-9).y(at)[.., 1]
swing_at(a, m) = ode(rates, concat(slow + a*fast, zeros(4)), (0.0, 30.0); method = m, rtol = 1e-7, atol = 1e-9, saveat = at).values[.., 1]
right = map(t -> (Q @ ([0, 0, 1.0, 0.5]*cos(ω*t)))[1], at)
slope(f) = jvp(f, 0.0, 1.0)[1]
for m in (auto(), tsit5(), dop853(), rodas5p(), radau5(), adams(), bdf()) {
  (got, asked) = (slope(a -> swing(a, m)), slope(a -> swing_at(a, m)))
  weighted = grad(a -> swing(a[0], m) @ [1.0, 2, 3])([0.0])[0]
  off = max(concat(abs(got - right), abs(asked - right), [abs(weighted - right @ [1.0, 2, 3])]))
  # The bound is a hundred tolerances over 360 radians; BDF loses a factor of a
  # thousand.
  assert(off < (if m.name == "bdf" { 1e-4 } else { 1e-5 }), "{m.name}: {got}, {asked} and {weighted}, not {right}")
}
# The second derivative of a linear dependence is 0.
(a -> swing(a, dop853())[1])''(0.0)                #~ 0 tol 1e-6
# with algebraic equations
problem linked(a) {
  domain t in [0, 30]
  field y[4], v[4], z[4]
  y_t == v
  v_t == -z
  z == K @ y
  y == slow + a*fast at t = 0
  v == zeros(4) at t = 0
}
slope(a -> solve(linked(a); rtol = 1e-7, atol = 1e-9).y(at)[.., 1])                  #~ right tol 1e-5
slope(a -> solve(linked(a); rtol = 1e-7, atol = 1e-9, saveat = at).y(at)[.., 1])     #~ right tol 1e-5

# A chain of 20 equal masses between walls, in one normal mode; a displaces one
# mass. idle_waves.dsl tests longer chains.
shape = k -> sqrt(2/21)*sin(π*(k + 1)*(iota(20) + 1.0)/21)
chain(t, y) = concat(y[20..], concat(y[1..20], [0.0]) - 2y[..20] + concat([0.0], y[..19]))
pushed(a, m) = ode(chain, concat(shape(0) + a*where(iota(20) == 7, 1.0, 0.0), zeros(20)), (0.0, 50.0); method = m, rtol = 1e-6, atol = 1e-8).y(31.7)[7]
wave = sum(shape(7)^2*cos(2sin(π*(iota(20) + 1.0)/42)*31.7))
slope(a -> pushed(a, rodas5p()))                      #~ wave tol 1e-4
slope(a -> pushed(a, tsit5()))                        #~ wave tol 1e-4

# systems at rest, with a lag and with an algebraic equation
at = [0.5, 1.5, 13.7, 29.1]
hanging(a) = dde((t, y, Z) -> stack(y[1], -9sin(y[0]) + 0.01Z[0, 0]^2), stack(a, 0.0), (0.0, 30.0); lags = 12.0, past = t -> stack(a, 0.0), rtol = 1e-8, atol = 1e-10).y(at)[.., 0]
problem running_down(a) {
  domain t in [0, 10]
  field x, z
  x_t == -z
  z == sin(x) + x^3
  x == a at t = 0
}
slope(hanging)                                                                     #~ cos(3at) tol 1e-5
late = [1.0, 5.3]
slope(a -> solve(running_down(a); rtol = 1e-8, atol = 1e-10).x(late))              #~ exp(-late) tol 1e-7
grad(a -> solve(running_down(a[0]); rtol = 1e-8, atol = 1e-10, saveat = late).x(late) @ [1.0, 2])([0.0])    #~ [exp(-late) @ [1.0, 2]] tol 1e-7
# more unknowns than the compiler unrolls
problem many(a) {
  domain t in [0, 3]
  field x[18], v[18], z[18]
  x_t == v
  v_t == -z
  z == 9sin(x)
  x == a + zeros(18) at t = 0
  v == zeros(18) at t = 0
}
soon = [0.31, 0.77, 3.0]
swung(a) = solve(many(a); rtol = 1e-7, atol = 1e-9).x(soon)[.., 3]
swung_at(a) = solve(many(a); rtol = 1e-7, atol = 1e-9, saveat = soon).x(soon)[.., 3]
slope(swung)                                                                       #~ cos(3soon) tol 1e-5
slope(swung_at)                                                                    #~ cos(3soon) tol 1e-5
grad(a -> swung(a[0]) @ [1.0, 2, 3])([0.0])                                        #~ [cos(3soon) @ [1.0, 2, 3]] tol 1e-5
grad(a -> swung_at(a[0]) @ [1.0, 2, 3])([0.0])                                     #~ [cos(3soon) @ [1.0, 2, 3]] tol 1e-5
# Over many periods, where steps chosen for the sensitivities alone would exceed
# the step limit of IDAS.
problem hanging_still(a) {
  domain t in [0, 30]
  field x, v, z
  x_t == v
  v_t == -z
  z == 9sin(x)
  x == a at t = 0
  v == 0 at t = 0
}
still(a) = solve(hanging_still(a); rtol = 1e-8, atol = 1e-10).x(at)
still_at(a) = solve(hanging_still(a); rtol = 1e-8, atol = 1e-10, saveat = at).x(at)
slope(still)                                                                       #~ cos(3at) tol 1e-5
slope(still_at)                                                                    #~ cos(3at) tol 1e-5
grad(a -> still_at(a[0]) @ [1.0, 2, 3, 4])([0.0])                                  #~ [cos(3at) @ [1.0, 2, 3, 4]] tol 1e-5
(a -> still_at(a)[1])''(0.0)                                                       #~ 0 tol 1e-5
# Where a perturbation decays fast, an explicit method reports that it cannot
# follow it.
quiet(a, m) = dde((t, y, Z) -> stack(-1e6*y[0] + y[1], -0.1y[1] + 0.01Z[0, 1]), stack(a, a), (0.0, 30.0); lags = 12.0, past = t -> stack(a, a), method = m).y(20.0)[1]
delayed = exp(-1.2) + 0.1*(1 - exp(-1.2))
(a -> quiet(a, rodas5p()))'(0.0)    #~ delayed*exp(-0.8) + 0.072exp(-0.8) + 0.01*(1 - exp(-0.8)) tol 2e-5
contains(try { str((a -> quiet(a, dop853()))'(0.0)) } catch e { e }, "is as fast as 1e+06 a unit of time")    #> true
