#! error E0104 2:6-2:7 "expected an expression, found the `}` that ends the interpolation"
"{1 +}"
