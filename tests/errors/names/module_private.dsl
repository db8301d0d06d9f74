#! error E0206 3:8-3:15 "`_hidden` is private to the module `shapes`"
use "../../language/_shapes.dsl" as shapes
shapes._hidden(1)
