s = 0
while true { s += 1 }
