# Derivatives of a function that always fails: the message is that of the
# function, and try catches it.
g(x) = { error("no"); x }
said(run) = try { run(); "nothing" } catch e { e }
said(() -> jacobian(g)([0.3]))                                                          #> no
said(() -> { (y, push) = linearize(g, [0.3]); y })                                      #> no
said(() -> { (y, back) = vjp(g, [0.3]); y })                                            #> no
said(() -> { (y, dy) = jvp(g, [0.3], [1.0]); y })                                       #> no
said(() -> grad(x -> sum(g(x)))([0.3]))                                                 #> no
said(() -> { (v, dv) = value_and_grad(x -> sum(g(x)))([0.3]); v })                      #> no
said(() -> hessian(x -> sum(g(x)))([0.3]))                                              #> no
said(() -> { (v, w) = taylor(x -> sum(g([x])), 1.0, 3); v })                            #> no
said(() -> minimize(x -> sum(g(x)), [1.0]).x)                                           #> no
said(() -> least_squares(g, [1.0]).x)                                                   #> no
said(() -> root(g, [1.0]))                                                              #> no
said(() -> ode((t, y) -> g(y), [1.0], (0.0, 1.0); method = bdf()).values)               #> no
said(() -> integrate(x -> sum(g([x])), 0.0, 1.0))                                       #> no
