#! error E0301 2:1-2:8 "`+` has no meaning for a string and i64"
"a" + 1
