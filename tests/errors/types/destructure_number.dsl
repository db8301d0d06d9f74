#! error E0301 2:1-2:11 "cannot take i64 apart into 2 names"
(a, b) = 3
