#! error E0303 2:19-2:27 "no axis 2: there are 2, counted from 0"
sum([1, 2; 3, 4]; axis = 2)
