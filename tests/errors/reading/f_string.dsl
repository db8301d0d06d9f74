#! error E0104 3:8 "expected `,` or `)` after an argument, found a string" hint "text stands in quotes alone, and {x} in it is the value of x"
x = 5
print(f"{x}")
