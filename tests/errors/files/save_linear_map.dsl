#! error E0801 6:1-6:28 "a linear map that vjp or linearize returned cannot be saved" hint "save the function and the place"
# It has functions of this session only. Saved, it would use whichever function
# has the same number in the session that loads it.

back = vjp(x -> x^2, 3.0)[1]
save("map.npz", (f = back))
