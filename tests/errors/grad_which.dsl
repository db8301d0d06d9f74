#! error E0202 2:1-2:35 "a derivative with respect to argument 2 of 2"
grad((x, y) -> x * y, 2)(1.0, 2.0)
