#! error E0301 2:1-2:10 "lu takes an array, not a string"
lu("abc")
