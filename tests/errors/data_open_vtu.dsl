#! error E0801 2:1-2:32 "open.vtu:5: this closes another element"
load("tests/data/bad/open.vtu")
