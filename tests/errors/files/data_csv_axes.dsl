#! error E0801 2:1-2:50 "a table has two axes, and this array has 3"
save("/tmp/atled-errors-data.csv", ones(2, 2, 2))
