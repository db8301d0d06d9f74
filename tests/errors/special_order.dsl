#! error E0505 2:11 "besselj has no derivative by its order `n`; stop_gradient(n) holds it fixed"
grad(n -> besselj(n, 2.0))(1.5)
