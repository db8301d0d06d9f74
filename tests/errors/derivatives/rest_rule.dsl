#! error E0404 3:14-3:18 "a rule names each argument" hint "a function of a tuple may have a rule, and be called by the one with `...`"
f(...a) = len(a)
derivative f(...a) = 1
