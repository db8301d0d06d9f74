use "_orders.dsl"
orders("neg", t -> -sin(t), 0.4)    #> neg: forward 4, reverse 4, Taylor 4, batch yes
orders("abs", t -> abs(sin(t)) * t, 0.4)    #> abs: forward 4, reverse 4, Taylor 4, batch yes
orders("sign", t -> sign(sin(t)) * exp(t), 0.4)    #> sign: forward 4, reverse 4, Taylor 4, batch yes
orders("floor", t -> floor(3t) * sin(t), 0.4)    #> floor: forward 4, reverse 4, Taylor 4, batch yes
orders("round", t -> round(3t) * sin(t), 0.4)    #> round: forward 4, reverse 4, Taylor 4, batch yes
orders("sqrt", t -> sqrt(1.5 + t^2), 0.4)    #> sqrt: forward 4, reverse 4, Taylor 4, batch yes
orders("cbrt", t -> cbrt(1.5 + t), 0.4)    #> cbrt: forward 4, reverse 4, Taylor 4, batch yes
orders("exp", t -> exp(sin(t)), 0.4)    #> exp: forward 4, reverse 4, Taylor 4, batch yes
orders("expm1", t -> expm1(t^2), 0.4)    #> expm1: forward 4, reverse 4, Taylor 4, batch yes
orders("log", t -> log(1.5 + t^2), 0.4)    #> log: forward 4, reverse 4, Taylor 4, batch yes
orders("log1p", t -> log1p(sin(t)), 0.4)    #> log1p: forward 4, reverse 4, Taylor 4, batch yes
orders("sin", t -> sin(t^2 + 1), 0.4)    #> sin: forward 4, reverse 4, Taylor 4, batch yes
orders("cos", t -> cos(t^2 + 1), 0.4)    #> cos: forward 4, reverse 4, Taylor 4, batch yes
orders("tan", t -> tan(t / 2), 0.4)    #> tan: forward 4, reverse 4, Taylor 4, batch yes
orders("asin", t -> asin(t / 2), 0.4)    #> asin: forward 4, reverse 4, Taylor 4, batch yes
orders("acos", t -> acos(t / 2), 0.4)    #> acos: forward 4, reverse 4, Taylor 4, batch yes
orders("atan", t -> atan(t / 2 + 1), 0.4)    #> atan: forward 4, reverse 4, Taylor 4, batch yes
orders("sinh", t -> sinh(t^2), 0.4)    #> sinh: forward 4, reverse 4, Taylor 4, batch yes
orders("cosh", t -> cosh(t^2 + t), 0.4)    #> cosh: forward 4, reverse 4, Taylor 4, batch yes
orders("tanh", t -> tanh(t^2 + t), 0.4)    #> tanh: forward 4, reverse 4, Taylor 4, batch yes
orders("erf", t -> erf(t^2 + t), 0.4)    #> erf: forward 4, reverse 4, Taylor 4, batch yes
orders("real", t -> real(exp((1 + 2im) * t)), 0.4)    #> real: forward 4, reverse 4, Taylor 4, batch yes
orders("imag", t -> imag(exp((1 + 2im) * t) / (t + 2im)), 0.4)    #> imag: forward 4, reverse 4, Taylor 4, batch yes
orders("conj", t -> real(conj(sin(t + 1im * t^2)) * exp(1im * t)), 0.4)    #> conj: forward 4, reverse 4, Taylor 4, batch yes
orders("add", t -> sin(t) + exp(t), 0.4)    #> add: forward 4, reverse 4, Taylor 4, batch yes
orders("sub", t -> sin(t) - exp(t), 0.4)    #> sub: forward 4, reverse 4, Taylor 4, batch yes
orders("mul", t -> sin(t) * exp(t), 0.4)    #> mul: forward 4, reverse 4, Taylor 4, batch yes
orders("div", t -> sin(t) / (2 + exp(t)), 0.4)    #> div: forward 4, reverse 4, Taylor 4, batch yes
orders("pow", t -> (1.5 + t)^sin(t), 0.4)    #> pow: forward 4, reverse 4, Taylor 4, batch yes
orders("atan2", t -> atan2(sin(t), 1 + t^2), 0.4)    #> atan2: forward 4, reverse 4, Taylor 4, batch yes
orders("max", t -> max(sin(t), t^3) * t, 0.4)    #> max: forward 4, reverse 4, Taylor 4, batch yes
orders("min", t -> min(sin(t), t^3) * exp(t), 0.4)    #> min: forward 4, reverse 4, Taylor 4, batch yes
orders("mod", t -> mod(exp(t), 1 + t^2), 0.4)    #> mod: forward 4, reverse 4, Taylor 4, batch yes
orders("floordiv", t -> (exp(t) // (1 + t^2)) * sin(t), 0.4)    #> floordiv: forward 4, reverse 4, Taylor 4, batch yes
orders("bitand", t -> bitand(i64(floor(9t)), 6) * sin(t), 0.4)    #> bitand: forward 4, reverse 4, Taylor 4, batch yes
orders("bitxor", t -> bitxor(i64(floor(9t)), 6) * sin(t), 0.4)    #> bitxor: forward 4, reverse 4, Taylor 4, batch yes
orders("shift", t -> bitshift(i64(floor(9t)), 2) * sin(t), 0.4)    #> shift: forward 4, reverse 4, Taylor 4, batch yes
orders("eq", t -> where(floor(t) == 0, sin(t), cos(t)) * t, 0.4)    #> eq: forward 4, reverse 4, Taylor 4, batch yes
orders("lt", t -> where(t < 1, sin(t), cos(t)) * t, 0.4)    #> lt: forward 4, reverse 4, Taylor 4, batch yes
orders("le", t -> where(t <= 0.1, sin(t), cos(t)) * t, 0.4)    #> le: forward 4, reverse 4, Taylor 4, batch yes
orders("select", t -> sum(where([0.1, 0.5, 0.9] < t, sin(t * [1, 2, 3]), exp(t * [1, 2, 3]))), 0.4)    #> select: forward 4, reverse 4, Taylor 4, batch yes
orders("convert", t -> real(c128(t)^3 * exp(1im * t)), 0.4)    #> convert: forward 4, reverse 4, Taylor 4, batch yes
orders("stop_gradient", t -> stop_gradient(t) * sin(t), 0.4; exact = [0.4*cos(0.4), -0.4*sin(0.4), -0.4*cos(0.4), 0.4*sin(0.4)])    #> stop_gradient: forward 4, reverse 4, Taylor 4, batch yes
