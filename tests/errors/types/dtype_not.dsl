#! error E0301 2:1-2:6 "`not` takes a condition, not i64"
not 3
