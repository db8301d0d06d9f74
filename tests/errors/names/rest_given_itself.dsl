#! error E0203 4:6-4:11 "`h` says itself what `a` is"
g(x; a = 1) = a * x
h(x; ...o) = g(x; a = 7, ...o)
h(1; a = 2)
