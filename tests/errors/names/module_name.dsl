#! error E0205 3:8-3:14 "the module `shapes` has no `volume`"
use "../../language/_shapes.dsl" as shapes
shapes.volume(1)
