#! error E0505 2:1-2:29 "fv() knows the fluxes \"rusanov\", \"hll\", \"hllc\", \"roe\" and \"godunov\", not \"rusanow\""
fv(n = 10, flux = "rusanow")
