#! error E0105 2:10-2:10 "this `[` has no closing `]`" second 2:5 "the `[` is here"
x = [1, 2
y = 3
