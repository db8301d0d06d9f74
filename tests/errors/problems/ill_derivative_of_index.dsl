#! error E0501 5:13-5:23 "a derivative of an expression with an index" hint "derive the whole, and take the index of that: d(v, x)[i], grad(v)[i, j]"
problem p {
  domain x in [0, 1] periodic, y in [0, 1] periodic
  field v[2]
  [sum(v[j]*d(v[i], x) for j in 0..2) for i in 0..2] == Δ(v) + v
}
