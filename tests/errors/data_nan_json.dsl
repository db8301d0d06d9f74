#! error E0801 2:1-2:32 "nan.json: line 2, column 3: JSON has no NaN"
load("tests/data/bad/nan.json")
