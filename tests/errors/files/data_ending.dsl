#! error E0801 2:1-2:17 "file.abc: the ending says no format"
load("file.abc")
