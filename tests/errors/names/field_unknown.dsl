#! error E0205 3:3-3:8 "no field `widht`; did you mean `width`?"
p = (width = 1, height = 2)
p.widht
