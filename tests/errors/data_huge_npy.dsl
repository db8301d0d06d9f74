#! error E0801 2:1-2:32 "huge.npy: byte 128: an array of this shape is larger than any memory"
load("tests/data/bad/huge.npy")
