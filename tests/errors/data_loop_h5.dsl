#! error E0801 2:1-2:35 "loop.h5: /a/up: this link leads back to a group around it"
load("tests/data/samples/loop.h5")
