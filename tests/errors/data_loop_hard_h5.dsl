#! error E0801 2:1-2:40 "/a/b/back: this link leads back to a group around it"
load("tests/data/samples/loop_hard.h5")
