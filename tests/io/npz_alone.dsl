# A single array in an .npz file is the member arr_0, as with NumPy's savez.
save("/tmp/atled-test-alone.npz", [1.0, 2, 3])
load("/tmp/atled-test-alone.npz")                   #> (arr_0 = [1, 2, 3])
save("/tmp/atled-test-alone.npz", f32(2.5))
w = load("/tmp/atled-test-alone.npz")
(dtype(w.arr_0), w.arr_0)                           #> ("f32", 2.5)
