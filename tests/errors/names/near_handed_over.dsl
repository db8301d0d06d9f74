#! error E0201 5:6-5:9 "no `los`; did you mean `loss`?"
lot = 0.5
loss(p) = sum(p^2)
lost = [1.0, 2]
grad(los)(lost)
