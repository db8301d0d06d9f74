#! error E0501 2:9-2:10 "more than 255 different derivatives"
problem p {
  domain x in [0, 1] periodic, y in [0, 1] periodic, z in [0, 1] periodic
  field u
  Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(Δ(u)))))))))))))))))))))))))))))) == u
}
solve(p)
