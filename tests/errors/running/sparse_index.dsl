#! error E0605 2:1-2:15 "1 of the indices are out of range for a length of 3"
speye(3)[3, 0]
