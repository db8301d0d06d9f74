#! error E0608 2:1-2:50 "a number of snapshots or the memory for them, not both"
checkpoint(x -> x^2; snapshots = 20, memory = 64)
