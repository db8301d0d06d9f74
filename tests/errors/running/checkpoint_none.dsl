#! error E0608 2:22-2:35 "at least 1, not 0"
checkpoint(x -> x^2; snapshots = 0)
