#! error E0801 2:1-2:69 "the field b is no array on the grid"
save("/tmp/atled-errors-data.vti", (a = ones(2, 2), b = ones(3, 2)))
