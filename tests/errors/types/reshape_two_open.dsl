#! error E0302 2:1-2:27 "only one length can be -1"
reshape([1, 2, 3], -1, -1)
