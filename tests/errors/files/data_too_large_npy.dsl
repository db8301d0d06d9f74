#! error E0801 2:1-2:39 "too_large.npy: byte 136: a number of 2^63 or more"
load("tests/io/samples/too_large.npy")
