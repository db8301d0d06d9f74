#! error E0801 2:1-2:45 "an .npy file holds one array"
save("/tmp/atled-errors-data.npy", (a = 1,))
