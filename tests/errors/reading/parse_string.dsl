#! error E0103 2:5-2:9 "this string has no end"
x = "abc
