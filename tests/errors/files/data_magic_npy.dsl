#! error E0801 2:1-2:31 "magic.npy: byte 0: this does not begin as an .npy file does"
load("tests/io/bad/magic.npy")
