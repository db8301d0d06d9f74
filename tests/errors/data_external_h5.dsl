#! error E0801 2:1-2:39 "/other: this link leads nowhere, or to another file"
load("tests/data/samples/external.h5")
