#! warning W0301 3:7-3:8 "`i` shares its range with `j`, and covers a part of this axis of length 4" second 3:25 "`i` and `j` both run over this" hint "leaves `i` to its axis"
A = ones(4, 4)
sum(A[i, j] for i, j in 0..3)
