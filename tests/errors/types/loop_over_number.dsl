#! error E0301 2:10-2:11 "`for` runs over a range, an array, a tuple, a list or a string, not i64" hint "for i in 0..n runs n times"
for i in 5 { print(i) }
