#! error E0201 3:7-3:14 "no `velocty`; did you mean `velocity`?"
velocity = 3
print(velocty)
