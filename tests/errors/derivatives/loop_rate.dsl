# a rate that jumps where a loop compares, at a time that moves
#! error E0401 3:57-3:62 "may jump here, at a time that moves" hint "outside of loops"
rate(t, a) = { s = 1.0; i = 0; while i < floor(2t) { if t > a { s = s + 9 }; i = i + 1 }; s }
final(a) = ode((t, y) -> stack(rate(t, a)), [0.0], (0.0, 1.0)).y(1.0)[0]
final'(0.3)
