#! error E0207 2:1-2:9 "no module `odee`; did you mean `ode`?" hint "write use \"odee.dsl\" for a file of your own"
use odee
