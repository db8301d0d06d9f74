x = try { error("no {1 + 1}") } catch e { 3 }
try { [1, 2][7] } catch e { print("outside: {e}") }
