# Sums of products in index notation: every index counts, and no factor is
# summed in its own dtype. Oracle: expected values.
sum(2*3 for k in 0..3)  #> 18
g=9.81;h=0.1
sum(g*h for k in 0..10)  #~ 9.81
v=[2,3,4]
sum(v[i]*v[0] for i in 0..3 for q in 0..2)   #> 36
[sum(v[i]*v[0] for q in 0..3) for i]  #> [12, 18, 24]
sum(v[0]*v[1] for q in 0..0)  #> 0
sum(v[i]*v[i] for i for q in [5,6,7])  #> 87
T[i] := sum(v[i]*v[i] for q in 5..0 by -1)
T  #> [20, 45, 80]
sum(true*true*true for q in 0..3) #> 3
(x -> sum(x*x*x for k in 0..4))'(2.0)  #> 48.0
sum((1+2im)*2 for k in 0..2) #> 4 + 8im
sum(2*[1,2] for k in 0..3) #> [6, 12]
k = i32([2147483647, 2147483647])
sum(k[i]*1.5 for i)  #> 6442450941.0
m = [9223372036854775807, 9223372036854775807]
sum(m[i]*0.5 for i) #~ 9.223372036854775807e18
x=[1e308,1e308]
sum(x[i]*0.1 for i) #~ 2e307
f=f32([1e38,3e38])
sum(f[i]*0.1 for i) #~ f32(4e37) tol 1e-6
u=f32([16777216,1])
sum(u[i]*f64(1) for i) #> 16777217.0
A=i32([2000000000,2000000000;1,1])
w=[1.0,1.0]
[sum(A[i,j]*w[i] for j) for i]  #~ [4e9, 2]
sum(A[i,j]*w[i] for i, j) #> 4000000002.0
sum(A[i,j]*A[i,j]*0.5 for i, j) #~ sum(A*A*0.5)
sum(A[i,j]*k[j]*w[q] for i, j, q) #~ 2*sum([f64(A[i,j]*k[j]) for i, j])
sum(k[i]*w[j] for i, j) #> 8589934588.0
sum(w[i]*k[j] for i, j) #> 8589934588.0
y=[1.0,-2,3]
sum((y[i] > 0)*2.5 for i) #> 5.0
b=[true,true,false]
sum(b[i]*b[j] for i, j) #> 4
sum(b[i]*b[i]*b[j] for i, j) #> 4
sum(b[i]*b[i]*y[j]*2.5 for i, j) #> 10.0
prod(b[i] for i) #> 0
