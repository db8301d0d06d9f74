#! error E0801 2:1-2:33 "loop.h5: /a/up: this link leads back to a group around it"
load("tests/io/samples/loop.h5")
