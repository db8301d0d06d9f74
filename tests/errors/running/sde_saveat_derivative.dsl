#! error E0604 "sde has a derivative by saveat only where no two of these times are the same, and none is the beginning: between them the path is stretched; stop_gradient(saveat) holds times fixed"
grad(u -> sde((t, x) -> x, (t, x) -> x, [1.3], (0.0, 2.0); seed = 11, saveat = [u, 0.5, 1.9]).values[0][0])(0.5)
