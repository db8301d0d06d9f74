#! error E0401 4:11-4:32 "`unbox` takes a value that depends on what is differentiated through a dynamic value" trace "from the result: `*` at 2:18"
square(v: f64) = v * v
mixed(t) = if t < 1 { t } else { [t, t] }
loss(t) = square(mixed(sin(t)))
grad(loss)(0.4)
