# A stride that no slice of a program has, only IR that was written as text.
# Positions overflow, and nothing outside the array is read. Oracle: the rule of
# slices.
says(f, x) = try { "fine {f(x)[0]}" } catch e { split(e, " of ")[0] }
x = iota(24) * 1.0
far = read_ir("fn @f[n](%0: f64[n]) -> (f64[12]) \{\n  %1: f64[12] = slice %0 \{start: [0], length: [12], stride: [4611686018427387904]\}\n  %2: f64[12] = mul %1, %1\n  return %2\n\}\n")
says(far, x)                             #> a slice
back = read_ir("fn @f[n](%0: f64[n]) -> (f64[3]) \{\n  %1: f64[3] = slice %0 \{start: [n - 1], length: [3], stride: [-9223372036854775808]\}\n  return %1\n\}\n")
says(back, x)                            #> a slice
half = read_ir("fn @f[n](%0: f64[n]) -> (f64[n]) \{\n  %1: f64[n] = slice %0 \{start: [0], length: [n], stride: [-9223372036854775808]\}\n  return %1\n\}\n")
says(half, x)                            #> a slice
says(half, [7.0])                        #> fine 7.0
in_steps = read_ir("fn @f[n](%0: f64[n]) -> (f64[n - 1]) \{\n  %1: f64[n - 1] = slice %0 \{start: [n - 2], length: [n - 1], stride: [-1]\}\n  %2: f64[n - 1] = mul %1, %1\n  return %2\n\}\n")
in_steps([1.0, 2, 3, 4])                 #> [9, 4, 1]
third = read_ir("fn @f[n](%0: f64[n], %1: f64) -> (f64[n]) \{\n  %2: f64[n] = slice %0 \{start: [0], length: [n], stride: [3]\}\n  return %2\n\}\n")
says(v -> third(v, 1.0), x)              #> a slice
wide = read_ir("fn @f[n](%0: f64[n]) -> (f64) \{\n  %1: f64[n] = slice %0 \{start: [0], length: [n], stride: [4611686018427387904]\}\n  %2: f64[n] = mul %1, %1\n  %3: f64 = reduce_sum %2 \{axes: [0]\}\n  return %3\n\}\n")
kept(f, x) = try { "fine {f(x)}" } catch e { split(e, " of ")[0] }
kept(wide, x)                            #> a slice
kept(wide, [3.0])                        #> fine 9.0
