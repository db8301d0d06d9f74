#! error E0207 2:1-2:28 "cannot read the module nothing_here.dsl"
use "nothing_here.dsl" as n
