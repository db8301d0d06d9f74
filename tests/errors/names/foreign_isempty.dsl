#! error E0201 2:1 "no `isempty`" hint "nothing is in x when size(x) == 0"
isempty([1])
