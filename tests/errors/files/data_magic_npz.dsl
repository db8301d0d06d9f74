#! error E0801 2:1-2:31 "magic.npz: byte 10: the file ends before an archive could"
load("tests/io/bad/magic.npz")
