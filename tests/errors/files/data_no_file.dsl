#! error E0801 2:1-2:26 "/no/such/file.csv: No such file or directory"
load("/no/such/file.csv")
