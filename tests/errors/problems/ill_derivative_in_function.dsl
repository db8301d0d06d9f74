#! error E0501 5:15-5:22 "a derivative inside of a function: what it is of is known only outside" hint "give it a name, q = ..., without parameters, or pass it to the function"
problem p {
  domain (x, y) in box([0, 1], [0, 1])
  field u
  flux(w) = w*d(w, x)
  d(flux(u), x) + Δ(u) == 0
  u == 0 at boundary
}
