#! error E0104 2:7-2:10 "expected the end of the statement, found `mod`" hint "the remainder is written a % b"
y = 3 mod 2
