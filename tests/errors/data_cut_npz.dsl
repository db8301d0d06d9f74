#! error E0801 2:1-2:31 "cut.npz: byte 300: the list of members at the end of the archive is missing"
load("tests/data/bad/cut.npz")
