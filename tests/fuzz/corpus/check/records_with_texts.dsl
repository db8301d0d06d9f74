# a program that fails, prints, or draws random numbers
r = nan_check(() -> rand() * nan)
(r.found, r.operation)               #> (true, "sqrt")
r == nan_check(() -> sqrt(sum(rand()) - 5))
seed(1)
(r.found, r.operation)               #> (true, "sqrt")
seed()
r = nan_check(() -> sqrt() * nan)
rand() == a                          #> true
