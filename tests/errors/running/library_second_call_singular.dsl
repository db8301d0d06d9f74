#! error E0606 4:7-4:26 "singular"
f(A) = det(inv(A))
f([1.0, 2; 3, 4])
1.0 + inv([1.0, 2; 2, 4])[0, 0]
