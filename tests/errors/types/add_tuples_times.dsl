#! error E0301 2:1-2:19 "`*` needs two tuples of one length, not a tuple of 2 and a tuple of 3"
(1, 2) * (1, 2, 3)
