#! error E0404 4:1 "names 2 tangents for 1 parameter"
f(x; ...o) = x
f(1)
derivative f(x; ...o), dx, da = dx
