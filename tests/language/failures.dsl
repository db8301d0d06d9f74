# An operation that may fail fails even if its result is unused. `try` detects
# it in the evaluator and in machine code, in loops, branches, calls, `map` and
# derivatives. Only a derivative omits operations that it does not need.

# [1, 3; 3, 1] has the eigenvalues 4 and -2, [3, 1; 1, 3] has 4 and 2.
good(A) = try { L = cholesky(A); true } catch m { false }
(good([1.0, 3; 3, 1]), good([3.0, 1; 1, 3]))                        #> (false, true)
inverts(A) = try { inv(A); true } catch m { false }
(inverts([1.0, 2; 2, 4]), inverts([1.0, 2; 3, 4]))                  #> (false, true)
divides(n) = try { 12 // n; true } catch m { false }
(divides(0), divides(3))                                            #> (false, true)
leaves_rest(n) = try { 7 % n; true } catch m { false }
(leaves_rest(0), leaves_rest(3))                                    #> (false, true)
powers(n) = try { 2^n; true } catch m { false }
(powers(-1), powers(3))                                             #> (false, true)
has_row(n) = try { zeros(3)[n]; true } catch m { false }
(has_row(5), has_row(2))                                            #> (false, true)
has_largest(x) = try { max(x); true } catch m { false }
(has_largest(zeros(0)), has_largest(zeros(1)))                      #> (false, true)
fit_together(a, b) = try { a + b; true } catch m { false }
(fit_together(ones(20), ones(30)), fit_together(ones(20), ones(20)))    #> (false, true)

# In loops, branches and calls, inlined or not.
in_loop(n) = try { for i in 0..n { zeros(3)[i] }; true } catch m { false }
(in_loop(4), in_loop(3))                                            #> (false, true)
in_branch(n) = try { if n > 2 { zeros(3)[n] } else { 0.0 }; true } catch m { false }
(in_branch(4), in_branch(2))                                        #> (false, true)
seven(A) = { cholesky(A); 7.0 }
in_call(A) = try { seven(A) } catch m { -1.0 }
(in_call([1.0, 3; 3, 1]), in_call([3.0, 1; 1, 3]))                  #> (-1.0, 7.0)
pair(A) = (cholesky(A), 1.0)
of_a_pair(A) = try { pair(A)[1] } catch m { -1.0 }
(of_a_pair([1.0, 3; 3, 1]), of_a_pair([3.0, 1; 1, 3]))              #> (-1.0, 1.0)
count_down(n) = { if n > 0 { count_down(n - 1) } else { zeros(3)[7 - n] }; 1.0 }
deep(n) = try { count_down(n) } catch m { -1.0 }
deep(3)                                                             #> -1.0

# Only a part of the result is used.
first(x, i) = try { x[i][0] } catch m { -1.0 }
(first([1.0, 2], [0, 1]), first([1.0, 2], [0, 2]))                  #> (1.0, -1.0)
quotient(a, b) = try { (a // b)[0] } catch m { -1 }
quotient([1, 2], [1, 0])                                            #> -1
quotient(iota(100) + 1, iota(100))                                  #> -1
quotient(iota(100), iota(100) + 1)                                  #> 0
all_but_last(x, i) = try { sum(2x[i][..-1]) } catch m { -1.0 }
(all_but_last(ones(50), iota(50)), all_but_last(ones(50), iota(51)))    #> (98.0, -1.0)
unused(x, i) = try { y = x[i]; 3.0 } catch m { -1.0 }
(unused(ones(50), iota(50)), unused(ones(50), iota(51)))            #> (3.0, -1.0)

# For each batch element.
map(divides, [0, 1, 0, 2])                                          #> [false, true, false, true]
map(has_row, [0, 7, 2])                                             #> [true, false, true]
map(x -> unused(x, iota(20)), ones(3, 19))                          #> [-1, -1, -1]

# The derivative follows the branch of the function: 5x where [x, 3; 3, x] has a
# negative eigenvalue, else x^2.
chosen(x) = if good([x, 3; 3, x]) { x^2 } else { 5x }
(chosen'(1.0), chosen'(4.0), chosen''(4.0))                         #> (5.0, 8.0, 2.0)
tried(x) = try { cholesky([x, 3; 3, x]); x^2 } catch m { 5x }
(tried'(1.0), tried'(4.0), tried''(4.0), tried''(1.0))              #> (5.0, 8.0, 2.0, 0.0)
grad(x -> tried(x[0]))([1.0])                                       #> [5]
map(grad(tried), [1.0, 4.0])                                        #> [5, 8]
map(tried', [1.0, 4.0])                                             #> [5, 8]
jvp(tried, 1.0, 1.0)[1]                                             #> 5.0
hessian(x -> tried(x[0]))([4.0])                                    #> [[2]]
taylor(tried, 1.0, 2)                                               #> [5, 5, 0]
at(x, i) = try { 2x[i] } catch m { 0.0 }
(grad(x -> at(x, 5))([1.0, 2]), grad(x -> at(x, 1))([1.0, 2]))      #> ([0, 0], [0, 2])

# Unused arithmetic that cannot fail is removed: only two additions remain.
idle(x) = { y = sum(sin(x))^3; z = [1, 2, 3][1] // 2; x + 1 + 2 }
cost(idle, 1.0) <= 2                                                #> true
# An empty batch does not fail.
map(x -> unused(zeros(3), [x]), iota(0))                            #> []
empty_rows(x) = try { y = map(v -> v[0], x); 3.0 } catch m { -1.0 }
empty_rows(zeros(0, 2))                                             #> 3.0

# A message of assert is shown as print shows it.
try { assert(1 > 2, 3.5) } catch m { m }                                #> 3.5
try { assert(1 > 2, in_loop(3)) } catch m { m }                         #> true
