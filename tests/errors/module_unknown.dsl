#! error E0207 2:1-2:9 "no module `odee`; did you mean `ode`?"
use odee
