#! error E0801 2:1-2:31 "deep.json: line 1, column 201: nested more than 200 deep"
load("tests/io/bad/deep.json")
