#! error E0801 2:1-2:33 "short.npy: byte 10: the header is longer than the file"
load("tests/data/bad/short.npy")
