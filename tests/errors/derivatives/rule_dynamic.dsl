#! error E0401 4:19-4:34 "`dynamic` takes a value that depends on what is differentiated through a dynamic value, where derivatives do not follow" trace "from the result: `*` at 5:11, `unbox` at 4:12"
mixed(t) = if t < 1 { (x = t,) } else { list(t) }
number(x: f64) = x
value(t) = number(mixed(sin(t)).x)
loss(t) = value(t)^2
grad(loss)(0.4)
