#! error E0210 3:28-3:36 "known only when it runs"
f(t) = { d = if t > 0.4 { } else { 0.0 }
 vjp(x -> (x, 2x), 1.0)[1]((1.0, d)) }
f(0.5)
