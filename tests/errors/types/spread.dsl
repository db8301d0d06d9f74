#! error E0301 3:5-3:9 "only a tuple, list or range of known length can be spread, not i64"
f(x) = f(...x)
(1, ...3)
