#! error E0801 2:1-2:30 "DataArray: something among the numbers that is none"
load("tests/io/bad/word.vti")
