# Modules: `use` of files and of the library.
use "_shapes.dsl" as shapes
shapes.area(2)               #~ 4π
shapes.scale                 #> 3
shapes.visible(1)            #> 6
area(1)                      #~ pi
kind(shapes.decay)           #> problem
f(r) = shapes.area(r)
f'(2.0)                      #~ 4π
use ode
kind(ode)                    #> function
mean(x) = 42                 # hides the library's
mean([1, 2])                 #> 42
sum(x) = 7
sum([1, 2])                  #> 7
norm([3, 4])                 #> 5.0
# A module's former name.
use mesher
kind(mesher.refine)          #> function
# A function that another module has.
use quad
kind(quad.oscillatory)       #> function
