# Evaluating a solution outside its domain is an error that states the domain,
# for every method. Periodic coordinates wrap around.

asked(f) = try { str(f()) } catch m { m }
problem heat() {
  domain t in [0, 0.1], x in [0, 1]
  field u
  u_t == u_xx
  u == sin(π*x) at t = 0
  u == 0 at x = 0, x = 1
}
for m in list(fd(n = 21), chebyshev(n = 12), fem(h = 0.02), fv(n = 40), rfm()) {
  s = solve(heat(), m; estimate = false)
  assert(asked(() -> s.u(0.1, 1.5)) == "the solution is known for x from 0 to 1, and does not say how things are at 1.5", m.name)
  assert(asked(() -> s.u([0.0, 0.2], 0.5)) == "the solution is known for t from 0 to 0.1, and does not say how things are at 0.2", m.name)
  assert(abs(s.u(0.1, 1 + 2e-16)) < 1e-5 and abs(s.u(0.1 + 2e-17, 0.5) - exp(-0.1π^2)) < 5e-3, m.name)
}
# over a part of the time interval
part = solve(heat(), fd(n = 21); t = (0, 0.05));
asked(() -> part.u(0.1, 0.5))        #> the solution is known for t from 0 to 0.05, and does not say how things are at 0.1
# without t, and in fits to data outside the domain
problem rod(k) {
  domain x in [0, 1]
  field u
  k*u_xx == -1
  u == 0 at x = 0, x = 1
}
for m in list(collocation(), shooting(), fd(n = 21), chebyshev(n = 8)) {
  s = solve(rod(1.0), m)
  assert(asked(() -> s.u(-0.5)) == "the solution is known for x from 0 to 1, and does not say how things are at -0.5", m.name)
  assert(abs(s.u(0.5) - 0.125) < 1e-6 and shape(s.u([0.1, 0.2; 0.3, 0.4])) == (2, 2), m.name)
}
asked(() -> fit(rod(1.0), (x = [0.5, 1.5], u = [0.1, 0.1])).k)[..41]     #> the solution is known for x from 0 to 1,
# periodic coordinates
problem wave() {
  domain t in [0, 0.5], x in [0, 2] periodic
  field u
  u_t == -u_x
  u == sin(π*x) at t = 0
}
for m in list(fourier(n = 16), fd(n = 40), fv(n = 200)) {
  s = solve(wave(), m; estimate = false)
  assert(abs(s.u(0.5, 2.307) - s.u(0.5, 0.307)) < 1e-12 and abs(s.u(0.5, -5.693) - s.u(0.5, 0.307)) < 1e-12, m.name)
  assert(abs(s.u(0.5, -1.7) - sin(-0.2π)) < 2e-2 and contains(asked(() -> s.u(0.6, 0.3)), "known for t from 0 to 0.5"), m.name)
}
# eigenfunctions, and plots of solutions known for a part of the time interval
problem modes() {
  domain x in [0, π]
  field u
  eigen λ
  u_xx == -λ*u
  u == 0 at x = 0, x = π
  u_x == 1 at x = 0
}
m = solve(modes());
(contains(asked(() -> m.u(4.0)), "at 4"), contains(asked(() -> m.mode(1).u(4.0)), "at 4"))      #> (true, true)
saved = solve(heat(), fd(n = 21); saveat = [0.02, 0.04, 0.06, 0.08], estimate = false);
(saved.info.lo[0], saved.info.hi[0])     #> (0.02, 0.08)
asked(() -> saved.u(0.1, 0.5))       #> the solution is known for t from 0.02 to 0.08, and does not say how things are at 0.1
kind(plot(saved))                    #> record
# Between saved times that are too far apart to interpolate.
turning = solve(wave(), fourier(n = 16); saveat = [0.0, 0.25, 0.5], estimate = false);
turning.u(0.25, 0.3)                 #~ sin(0.05π) tol 1e-5
contains(asked(() -> turning.u(0.1, 0.3)), "save more of them, or leave saveat out")      #> true
