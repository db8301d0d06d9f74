#! error E0210 4:17-4:18 "this IR was made for the value 1 here"
along(x, k) = sum(x; axis = k)
p = ir(along, ones(20, 30), 1)
p(ones(20, 30), 0)
