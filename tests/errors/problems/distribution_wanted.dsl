#! error E0505 2:1 "cdf takes a distribution, such as Normal(0, 1), before its number"
cdf(3, 2)
