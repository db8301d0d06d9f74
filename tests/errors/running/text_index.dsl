#! error E0608 2:7-2:8 "index 5 is out of range for a string of 3 characters"
"abc"[5]
