#! error E0801 2:1-2:30 "huge.npy: byte 128: an array of this shape is larger than any memory"
load("tests/io/bad/huge.npy")
