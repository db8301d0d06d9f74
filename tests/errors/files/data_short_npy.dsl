#! error E0801 2:1-2:31 "short.npy: byte 10: the header is longer than the file"
load("tests/io/bad/short.npy")
