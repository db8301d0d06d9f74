#! error E0201 4:5-4:11 "no `rattle`; did you mean `rattled`?"
rattles(x) = x
rattled = [0.5, 0.25]
2 * rattle
