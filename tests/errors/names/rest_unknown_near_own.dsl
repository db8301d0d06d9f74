#! error E0203 4:6-4:14 "`h` has no argument `scal`; did you mean `scale`?"
g(x; a = 1) = a * x
h(x; scale = 2, ...o) = g(scale * x; ...o)
h(1; scal = 3)
