#! error E0401 3:16-3:31 "`dynamic` takes a value that depends on what is differentiated through a dynamic value, where derivatives do not follow" trace "from the result: `*` at 4:11, `dynamic` at 3:12"
mixed(t) = if t < 1 { (x = t,) } else { list(t) }
value(t) = f64(mixed(sin(t)).x)
loss(t) = value(t)^2
grad(loss)(0.4)
