#! error E0604 2:21-2:45 "negative x: -2"
f(x) = { if x < 0 { error("negative x: {x}") }; sqrt(x) }
f(-2)
