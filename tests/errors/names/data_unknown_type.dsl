#! error E0210 2:38-2:39 "takes an array, and the type of this value is known only when it runs" hint "hand it to a function that declares what it is"
f(path) = { x = load(path); total = [x, 1]; total }
f("x.npy")
