#! error E0101 2:1 "the character `|` (U+007C) has no meaning here" hint "an absolute value is written abs(x), the logical operator `or`"
|3.0
