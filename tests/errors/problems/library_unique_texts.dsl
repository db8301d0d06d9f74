#! error E0505 2:1-2:23 "unique takes an array of numbers, not a list"
unique(list("a", "b"))
