#! error E0505 2:1-2:13 "bincount counts integers, and this is f64"
bincount([])
