#! error E0103 2:3-2:5 "an unknown escape in a string" hint "the escapes are \\n \\t \\r \\e \\\" \\\\ \\{ \\} and \\u{3b1}"
"a\qb"
