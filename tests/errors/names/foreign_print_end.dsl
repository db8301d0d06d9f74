#! error E0203 2:12 "`print` has no argument `end`" hint "each print writes a line; a string is put together in quotes, as in print(\"{a}, {b}\")"
print("a", end="")
