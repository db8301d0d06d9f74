#! error E0306 3:1-3:16 "cannot write i64[2] into bool[3]"
a = [true, false, true]
a[0..2] += true
