#! error E0203 3:11-3:22 "`walk` has no argument `steps`; did you mean `step`?"
walk(x; step = 0.1, stops = 3, stepsx = 2) = x + step * stops
walk(1.0, steps = 0.2)
