#! error E0604 2:1 "a direction is \"rising\", \"falling\" or \"any\", not \"downwards\""
event((t, y) -> y[0]; direction = "downwards")
