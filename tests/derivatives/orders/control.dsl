use "_orders.dsl"
grow(x) = exp(x) * sin(x)
power(x, n) = if n == 0 { 1.0 } else { x * power(x, n - 1) }
orders("if", t -> if t < 1 { sin(t) * t } else { exp(t) }, 0.4)    #> if: forward 4, reverse 4, Taylor 4, batch yes
orders("for", t -> { x = t; for i in 0..5 { x = sin(x) * (1 + 0.1 * x * i) }; x }, 0.4)    #> for: forward 4, reverse 4, Taylor 4, batch yes
orders("while", t -> { x = t; while x < 5 { x = x * x + x + 0.1 }; x }, 0.4)    #> while: forward 4, reverse 4, Taylor 4, batch yes
orders("break", t -> { x = t; for i in 0..100 { x = x * x + x + 0.1; if x > 5 { break } }; x }, 0.4)    #> break: forward 4, reverse 4, Taylor 4, batch yes
orders("try", t -> try { if t > 10 { error("large") }; sin(t)^2 } catch e { t }, 0.4)    #> try: forward 4, reverse 4, Taylor 4, batch yes
orders("call", t -> power(sin(t), 3) * power(exp(t), 2), 0.4)    #> call: forward 4, reverse 4, Taylor 4, batch yes
orders("recursion", t -> power(sin(t) + 1, 5), 0.4)    #> recursion: forward 4, reverse 4, Taylor 4, batch yes
orders("closure", t -> { f = x -> x * sin(t); f(f(t)) }, 0.4)    #> closure: forward 4, reverse 4, Taylor 4, batch yes
orders("record", t -> { r = (a = t, b = (c = [t, t^2],)); sum(r.b.c * exp(r.a)) }, 0.4)    #> record: forward 4, reverse 4, Taylor 4, batch yes
orders("fail", t -> { assert(t < 3, "large"); sin(t) * t }, 0.4)    #> fail: forward 4, reverse 4, Taylor 4, batch yes
orders("print", t -> { print("at {t}"); sin(t) * t }, 0.4)    #> print: forward 4, reverse 4, Taylor 4, batch yes
orders("progress", t -> { for k in 0..2 { progress(k, 2; loss = t) }; sin(t) * t }, 0.4)    #> progress: forward 4, reverse 4, Taylor 4, batch yes
orders("format", t -> { print("at {2t}"); sin(t) * exp(t) }, 0.4)    #> format: forward 4, reverse 4, Taylor 4, batch yes

# A solver, within its own tolerance.
decay(k) = ode((t, y) -> -k * y, [1.0], (0.0, 1.0); rtol = 1e-10, atol = 1e-12, saveat = [1.0]).values[0, 0]
solver_orders("host", decay, 0.4, exp(-0.4) * [-1, 1, -1, 1], 1e-6)    #> host: forward 4, reverse 4, Taylor 4, batch yes
