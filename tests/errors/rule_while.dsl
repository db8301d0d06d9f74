#! error E0401 2:31-2:115 "`while` gives an array whose length differs from lane to lane" trace "derived by: jvp"
nested(t) = { x = t; s = 0.0; while x < 5 { y = x; while y < 2 { y = y * y + y + 0.1 }; x = x * x + y; s = s + y }; x + s }
map(grad(nested), [0.4, 0.3])
