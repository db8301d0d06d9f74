#! error E0801 2:1-2:31 "bytes.csv:2: byte 6 (0xff) is not UTF-8"
load("tests/io/bad/bytes.csv")
