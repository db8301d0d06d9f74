#! error E0801 2:1-2:32 "DataArray: something among the numbers that is none"
load("tests/data/bad/word.vti")
