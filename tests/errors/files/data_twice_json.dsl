#! error E0801 2:1-2:32 "twice.json: line 1, column 10: a second field of this name"
load("tests/io/bad/twice.json")
