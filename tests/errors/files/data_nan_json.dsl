#! error E0801 2:1-2:30 "nan.json: line 2, column 3: JSON has no NaN"
load("tests/io/bad/nan.json")
