#! error E0207 2:1-2:16 "no module `verificaton`; did you mean `verification`?" hint "write use \"verificaton.dsl\" for a file of your own"
use verificaton
