#! error E0103 2:3-2:5 "an unknown escape in a string"
"a\qb"
