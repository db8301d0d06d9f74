#! error E0604 3:45-3:61 "too far"
# a turn that fails does so on the way forward, where it stands
f(x) = { s = x; for i in 0..10 { if s > 3 { error("too far") }; s = s * 1.5 }; s }
grad(checkpoint(f; snapshots = 2))(1.0)
