#! error E0306 2:1-2:14 "`%` has no meaning for c128"
(1 + 2im) % 2
