#! error E0102 2:2-2:21 "this integer does not fit in 64 bits"
-9223372036854775808^2
