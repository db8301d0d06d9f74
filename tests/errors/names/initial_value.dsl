#! error E0201 2:1-2:6 "no `ode45`" hint "an initial value problem is solved by ode(f, y0, (t0, t1))"
ode45((t, y) -> -y, [0, 1], [1.0])
