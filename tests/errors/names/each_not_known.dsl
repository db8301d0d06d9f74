#! error E0210 3:56-3:57 "how far the numbers go must be known before the program runs"
# Loops over each(n) are written out, so n is known before the program runs.
f(x) = { n = len(findall(x > 0)); s = 0; for k in each(n) { s = s + k }; s }
f([1.0, 2])
