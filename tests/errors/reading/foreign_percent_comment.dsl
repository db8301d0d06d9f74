#! error E0104 2:1-2:2 "expected an expression, found `%`" hint "a comment starts with #"
% a comment
