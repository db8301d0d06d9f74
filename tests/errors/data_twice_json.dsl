#! error E0801 2:1-2:34 "twice.json: line 1, column 10: a second field of this name"
load("tests/data/bad/twice.json")
