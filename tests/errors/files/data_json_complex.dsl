#! error E0801 2:1-2:43 "JSON has no complex numbers"
save("/tmp/atled-errors-data.json", [1im])
