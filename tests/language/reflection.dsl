# plan, native, ir and cost of functions. Their text is for people, so only its
# kind and minimal length are checked.

f(x) = sum(sin(x) * x)
kind(plan(f, ones(100)))        #> string
kind(native(f, ones(100)))      #> string
kind(str(ir(f, ones(100))))     #> string
len(plan(f, ones(100))) > 20    #> true
len(native(f, ones(100))) > 20  #> true
same(plan(f, ones(100)), plan(f, zeros(100)))  #> true
kind(plan(grad(f), ones(100)))  #> string
kind(plan(() -> 1))             #> string
kind(plan((A, b) -> linsolve(A, b), [2.0, 0; 0, 1], [1.0, 2]))  #> string
g(n) = { x = ones(n); plan(f, x) }
kind(g(30))                     #> string
cost(f, ones(100)) > 100        #> true
