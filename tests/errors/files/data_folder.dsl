#! error E0801 2:1-2:33 "the folder does not exist"
save("/no/such/folder/x.npy", 1)
