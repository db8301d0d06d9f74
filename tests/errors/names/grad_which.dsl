#! error E0202 2:1-2:35 "there is no argument 2: 2 are given, counted from 0"
grad((x, y) -> x * y, 2)(1.0, 2.0)
