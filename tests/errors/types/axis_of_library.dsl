#! error E0303 2:1-2:29 "no axis 2: there are 2, counted from 0"
flip([1, 2; 3, 4]; axis = 2)
