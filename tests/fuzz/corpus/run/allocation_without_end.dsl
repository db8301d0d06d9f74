a = [1.0]
while true { a = concat(a, a) }
