#! error E0801 2:1-2:32 "endless.h5: the HDF5 library fails on this file: it is damaged"
load("tests/io/bad/endless.h5")
