#! error E0608 2:1-2:21 "replace takes a string"
replace(3, "a", "b")
