#! error E0801 2:1-2:31 "names.csv:1: two columns are named a"
load("tests/io/bad/names.csv")
