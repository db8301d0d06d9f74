#! error E0608 2:10-2:19 "a range needs a step other than 0"
for i in 0..5 by 0 { print(i) }
