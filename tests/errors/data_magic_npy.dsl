#! error E0801 2:1-2:33 "magic.npy: byte 0: this does not begin as an .npy file does"
load("tests/data/bad/magic.npy")
