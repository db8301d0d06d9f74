#! error E0801 2:1-2:30 "open.vtu:5:5: this closes another element"
load("tests/io/bad/open.vtu")
