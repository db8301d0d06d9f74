# Inner ranges that depend on an outer index, whatever else has its name.
i = 2
x = [1, 2, 3, 4]
[sum(x[j] for j in 0..i) for i in 0..4]             #> [0, 1, 3, 6]
[sum(x[j] for j in 0..i+1) for i in 0..4]           #> [1, 3, 6, 10]
[sum(x[j] for j in i..i+2) for i in 0..3]           #> [3, 5, 7]
[sum(v for v in [i, i+1]) for i in 0..3]            #> [1, 3, 5]
[prod(x[j] for j in 0..i+1) for i in 0..4]          #> [1, 2, 6, 24]
[max(x[j] for j in 0..i+1) + i for i in 0..4]       #> [1, 3, 5, 7]
[x[i]*sum(x[j] for j in 0..i) for i]                #> [0, 2, 9, 24]
[sum(x[i]*x[j] for j in 0..i) for i]                #> [0, 2, 9, 24]
sum(sum(x[i]*x[j] for j in 0..i) for i)             #> 35
sum(x[i]*sum(x[j] for j in 0..i if j > 0) for i)    #> 26
[sum(x[k]*sum(x[j] for j in 0..k) for k in 0..i) for i in 0..5]      #> [0, 0, 2, 11, 35]
S[i] := sum(x[j] for j in 0..i) for i in 0..4
S                                                   #> [0, 1, 3, 6]
f(n, i) = [sum(j for j in 0..i) for i in 0..n]
f(4, 2)                                             #> [0, 0, 1, 3]
[sum(x[i] for i in 0..i) for i in 0..4]             #> [0, 1, 3, 6]
sum(x[i] for i in 0..i)                             #> 3
grad(z -> sum(sum(z[j]*z[i] for j in 0..i) for i))([1.0, 2, 3])      #> [5, 4, 3]
