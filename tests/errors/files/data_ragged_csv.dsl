#! error E0801 2:1-2:32 "ragged.csv:3: 1 cell here, and 2 in the first row"
load("tests/io/bad/ragged.csv")
