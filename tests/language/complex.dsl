# Complex numbers. Oracle: closed forms.
z = 3 + 4im
z + 1                #> 4 + 4im
z * z                #> -7 + 24im
z / 2                #> 1.5 + 2im
z / (1 + 1im)        #> 3.5 + 0.5im
1 / im               #> 0 - 1im
z^2                  #~ -7 + 24im
abs(z)               #> 5.0
real(z)              #> 3.0
imag(z)              #> 4.0
conj(z)              #> 3 - 4im
angle(z)             #~ atan2(4, 3)
sqrt(-4 + 0im)       #~ 2im
exp(im * pi)         #~ -1 + 0im
log(-1 + 0im)        #~ im * pi
sin(1 + 1im)         #~ 1.2984575814159773 + 0.6349639147847361im
cos(1 + 1im)         #~ 0.8337300251311491 - 0.9888977057628651im
tan(1 + 1im)         #~ 0.2717525853195117 + 1.0839233273386946im
sinh(1 + 1im)        #~ 0.6349639147847361 + 1.2984575814159773im
tanh(1 + 1im)        #~ 1.0839233273386946 + 0.2717525853195117im
(1 + 1im)^(0.5)      #~ 1.09868411346781 + 0.4550898605622273im
(1 + 1im)^(1im)      #~ 0.4288290062943679 + 0.15487175246424677im
z == 3 + 4im         #> true
z != 3               #> true
[1 + 1im, 2] * [1, 2im]      #> [1 + 1im, 0 + 4im]
sum([1 + 1im, 2 - 1im])      #> 3 + 0im
prod([1 + 1im, 1 - 1im])     #> 2 + 0im
[1, im] @ [1, im]            #> 0 + 0im
[1, 1im; 0, 2] @ [1, 1im]    #> [0 + 0im, 0 + 2im]
abs([3 + 4im, 1im])  #> [5, 1]
dtype(abs(z))        #> f64
norm([3im, 4])       #> 5.0
real([1 + 2im, 3])   #> [1, 3]
f(z) = z^3 + 2z
f(1 + 1im)           #~ (1 + 1im)^3 + 2(1 + 1im)
f'(1 + 1im)          #~ 3*(1 + 1im)^2 + 2
# The gradient of a real function of complex z: df/d(re) + i df/d(im).
grad(z -> abs(z)^2)(3 + 4im)         #~ 6 + 8im
grad(z -> real(z^2))(3 + 4im)        #~ 6 - 8im
grad(z -> imag(z^2))(3 + 4im)        #~ 8 + 6im
grad(z -> real(exp(z)))(0.3 + 0.4im) #~ conj(exp(0.3 + 0.4im))
grad(z -> sum(abs(z)^2))([1 + 1im, 2])       #~ [2 + 2im, 4]
grad(z -> real(conj(z) * z))(3 + 4im)        #~ 6 + 8im
where([true, false], 1im, 2)         #> [0 + 1im, 2 + 0im]
dtype(c64(1 + 2im))  #> c64
