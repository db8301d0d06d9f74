#! error E0101 2:10-2:11 "the character `?` (U+003F) has no meaning here" hint "a choice is written if c { a } else { b }"
x = true ? 1 : 2
