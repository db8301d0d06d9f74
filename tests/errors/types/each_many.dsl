#! error E0302 2:1-2:13 "`each` takes up to 100000 numbers, not 200000"
each(200000)
