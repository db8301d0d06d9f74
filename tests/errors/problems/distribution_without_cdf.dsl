#! error E0505 2:1 "there is no cdf of MultivariateNormal"
cdf(MultivariateNormal([0.0], [[1.0]]), 1)
