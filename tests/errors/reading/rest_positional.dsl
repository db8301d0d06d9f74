#! error E0104 2:9-2:10 "nothing stands behind `...o`, which takes what is left over"
f(...o, x) = x
