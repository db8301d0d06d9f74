#! error E0605 2:1-2:16 "hist: there are no finite values"
hist([0.0 / 0])
