#! error E0203 5:13-5:27 "`h` has no argument `lable`; did you mean `label`?" trace "called by"
g(x; a = 1, label = "none") = "{x} {a} {label}"
f(x; scale = 2, ...options) = g(scale * x; ...options)
h(x; ...o) = f(x; ...o)
h(1; a = 2, lable = "text")
