#! error E0801 2:1-2:45 "JSON has no NaN"
save("/tmp/atled-errors-data.json", [0.0/0])
