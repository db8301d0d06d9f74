#! error E0605 2:1 "no axis 3: there are 1, counted from 0"
rfft([1.0, 2]; axis = 3)
