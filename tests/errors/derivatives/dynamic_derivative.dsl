#! error E0401 3:1-3:8 "the type of what `f` gives is known only when it runs, so it has no derivative" hint "branches that give one shape and dtype, or a function that declares it, number(x: f64) = x, make it known"
f(x) = if x > 0 { x } else { "negative" }
f'(1.0)
