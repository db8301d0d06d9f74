#! error E0301 2:7-2:10 "the index of a string is an integer or a range, not f64"
"abc"[1.5]
