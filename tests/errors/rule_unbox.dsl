#! error E0401 3:12-3:30 "`dynamic` takes a value that depends on what is differentiated through a dynamic value" trace "from the result: `*` at 4:11"
mixed(t) = if t < 1 { t } else { [t, t] }
value(t) = f64(mixed(sin(t)))
loss(t) = value(t)^2
grad(loss)(0.4)
