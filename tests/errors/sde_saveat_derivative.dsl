#! error E0505 "a Brownian path has no slope, so sde has no derivative by saveat; the end of the span has one (values[-1] without saveat), and stop_gradient(saveat) holds times fixed"
grad(u -> sde((t, x) -> x, (t, x) -> x, [1.3], (0.0, 2.0); seed = 11, saveat = [u, 1.9]).values[0][0])(0.5)
