#! error E0301 2:13-2:25 "a comprehension runs over ranges, vectors, tuples and lists; `map` runs over the rows of i64[2, 2]"
[x for x in [1, 2; 3, 4]]
