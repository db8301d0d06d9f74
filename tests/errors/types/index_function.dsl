#! error E0301 2:1-2:7 "a function cannot be indexed"
sin[0]
