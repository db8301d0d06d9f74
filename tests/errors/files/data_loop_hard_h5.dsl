#! error E0801 2:1-2:38 "/a/b/back: this link leads back to a group around it"
load("tests/io/samples/loop_hard.h5")
