#! error E0104 2:12-2:13 "nothing stands behind `...o`, which takes what is left over"
f(x; ...o, a = 1) = a * x
