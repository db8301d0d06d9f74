#! error E0604 4:34-4:64 "2 of 3 are needed"
several(m) = {
  out = list()
  for k in (1, 2) { if m.n < 3 { error("{m.n} of 3 are needed") }; out = push(out, k) }
  out[1]
}
several((n = 2,))
