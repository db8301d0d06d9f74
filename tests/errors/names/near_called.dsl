#! error E0201 5:1-5:7 "no `gathar`; did you mean `gathers`?"
gathers(f, a, v) = { for x in v { a = f(a, x) }; a }
gatha = 2.5
gathars = [1.0, 2]
gathar((a, x) -> a + x, 0.0, gathars)
