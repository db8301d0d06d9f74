#! error E0201 2:30-2:31 "`y` has no value here: it is set only inside a branch, loop or block" hint "give y a value before the branch or loop"
f(x) = { if x > 0 { y = 1 }; y }
f(2)
