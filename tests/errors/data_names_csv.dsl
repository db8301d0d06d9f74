#! error E0801 2:1-2:33 "names.csv:1: two columns are named a"
load("tests/data/bad/names.csv")
