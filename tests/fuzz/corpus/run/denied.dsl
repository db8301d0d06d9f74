load("x.npy")
