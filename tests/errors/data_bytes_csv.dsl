#! error E0801 2:1-2:33 "bytes.csv:2: byte 6 (0xff) is not UTF-8"
load("tests/data/bad/bytes.csv")
