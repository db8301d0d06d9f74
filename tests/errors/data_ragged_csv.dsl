#! error E0801 2:1-2:34 "ragged.csv:3: 1 cell here, and 2 in the first row"
load("tests/data/bad/ragged.csv")
