#! error E0801 2:1-2:64 "the column b has 3 rows, and a has 2"
save("/tmp/atled-errors-data.csv", (a = [1, 2], b = [1, 2, 3]))
