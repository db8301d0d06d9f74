#! error E0404 3:12-3:19 "no function `sofclip` to give a derivative to; did you mean `softclip`?" hint "a rule stands below its function"
softclip(x) = x
derivative sofclip(x) = 1
