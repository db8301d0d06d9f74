#! error E0801 2:1-2:33 "there is no format \"xls\""
load("file.abc", format = "xls")
