#! error E0605 2:1-2:22 "cross is the product of vectors in three dimensions"
cross([1, 2], [3, 4])
