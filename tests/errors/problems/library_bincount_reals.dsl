#! error E0505 2:1-2:13 "bincount counts whole numbers, and this is f64"
bincount([])
