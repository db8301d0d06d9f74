# complex_derivatives.dsl - derivatives of order two and three of complex
# functions of a real scalar, against closed forms.
(s -> exp(sin(2im * s)))''(0.3)   #~ { u = 0.6im; -4(cos(u)^2 - sin(u)) * exp(sin(u)) }
(s -> (1 + 2im * s)^4)'''(0.5)    #~ 24 * (2im)^3 * (1 + 1im)
