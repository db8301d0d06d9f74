#! error E0101 2:7-2:8 "the character `$` (U+0024) has no meaning here"
x = 3 $ 4
