#! error E0201 4:1-4:6 "no `modul`; did you mean `models`?"
model = 3.0
models = (W = [1.0, 2], b = 0.5)
modul.W
