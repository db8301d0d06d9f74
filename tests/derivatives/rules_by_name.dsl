# Derivative rules of functions whose arguments are passed by name, or omitted.
(t -> gamma(x = t))'(3.0) #~ 1.8455686701969343
softclip(x) = x/(1+abs(x))
derivative softclip(x) = 1/(1+abs(x))^2
(x -> softclip(x = x))'(1.0) #> 0.25
q(x, k = 2.0) = k*x^2
derivative q(x, k) = 2*k*x, x^2
(k -> q(k = k, x = 3.0))'(5.0) #> 9.0
(k -> q(3.0; k = k))'(5.0) #> 9.0
(x -> q(k = 5.0, x))'(3.0) #> 30.0
(k -> q(x = 3.0, k))'(5.0) #> 9.0
q'(3.0)  #> 12.0
r(x; k = 2.0) = k*x^2
derivative r(x; k) = 2*k*x
(x -> r(x; k = 4.0))'(3.0)  #> 24.0
r'(3.0) #> 12.0
s(x; k = 2.0) = k*x^2
derivative s(x; k) = (2*k*x, x^2)
(k -> s(3.0; k = k))'(5.0) #> 9.0
s'(3.0) #> 12.0
(a -> beta(a, b = 2.0))'(1.5) #~ (a -> beta(a, 2.0))'(1.5)
(a -> beta(a = 2.0, b = a))'(1.5) #~ (a -> beta(2.0, a))'(1.5)
d(a, b) = a*b^2
derivative d(a, b), da, db = b^2*da + 2*a*b*db
(b -> d(a = 3.0, b))'(5.0) #> 30.0
(a -> d(b = 3.0, a))'(5.0) #> 9.0
[(map(z -> softplus(x = z), [1.0]))[0]] #~ [softplus(1.0)]
named(a, b) = a*b^2
derivative named(x, z) = (z^2, 2*x*z)
(b -> named(b = b, 3.0))'(5.0) #> 30.0
cubed(f, x) = f(x)^3
derivative cubed(f, x), df, dx = 3*f(x)^2*(df(x) + f'(x)*dx)
(p -> cubed(x = p, f = u -> p*u))'(2.0) #> 192.0
