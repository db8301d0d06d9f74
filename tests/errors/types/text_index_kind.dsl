#! error E0301 2:7-2:10 "the index of a text is a whole number or a range, not f64"
"abc"[1.5]
