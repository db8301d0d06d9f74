# All indices listed before a range have that range. An index without one ranges
# over the axis that it indexes. There is no warning when the range covers the
# axis, when indices are shifted, or when each index has its own range.

A = ones(4, 4)
sum(A[i, j] for i for j in 0..3)                    #> 12.0
sum(A[i, j] for i in 0..3 for j in 0..3)            #> 9.0
sum(A[i, j] for i, j in 0..4)                       #> 16.0
C[i, j] := A[i+1, j] - A[i, j-1] for i, j in 1..3
C                                                   #> [[0, 0], [0, 0]]
sum(A[0, j] for j in 0..2)                          #> 2.0

# A range whose length does not fit in 64 bits is rejected, used or not.
long() = try { str(len(-9000000000000000000..9000000000000000000)) } catch m { "refused" }
long()                                              #> refused
turns() = try { for i in -9000000000000000000..9000000000000000000 { break }; "ran" } catch m { "refused" }
turns()                                             #> refused

# `args` exists without arguments.
len(args)                                           #> 0

# A comma between clauses may end a line.
D[i, j] := i + j for i in 0..2,
  j in 0..2
D                                                   #> [[0, 1], [1, 2]]
E[i, j] := i - j for i,
  j in 0..2
E                                                   #> [[0, -1], [1, 0]]
