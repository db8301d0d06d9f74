#! error E0210 3:29-3:37 "known only when it runs"
f(t) = { d = if t > 0.4 { } else { 0.0 }
 jvp(p -> p[0], (1.0, 2.0), (1.0, d)) }
f(0.5)
