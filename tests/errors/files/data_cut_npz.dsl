#! error E0801 2:1-2:29 "cut.npz: byte 300: the list of members at the end of the archive is missing"
load("tests/io/bad/cut.npz")
