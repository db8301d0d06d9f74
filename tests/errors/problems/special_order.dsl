#! error E0505 2:11 "hyp1f1 has no derivative by its parameter `a`; stop_gradient(a) holds it fixed"
grad(a -> hyp1f1(a, 2.0, 0.5))(1.5)
