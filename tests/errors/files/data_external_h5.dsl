#! error E0801 2:1-2:37 "/other: this link leads nowhere, or to another file"
load("tests/io/samples/external.h5")
