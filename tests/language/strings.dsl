# Strings and interpolation. Oracle: expected values.
"hello"              #> hello
"a" + "b"            #> ab
len("hello")         #> 5
""                   #>
x = 3.14159
"x is {x}"           #> x is 3.14159
"x is {x:.2f}"       #> x is 3.14
"{x:.3e}"            #> 3.142e+00
"{x:8.2f}|"          #> 3.14|
"{1 + 1}"            #> 2
"{[1, 2]}"           #> [1, 2]
"{x=}"               #> x = 3.14159
"\{x\}"              #> {x}
"{true}"             #> true
"tab\tend"           #> tab end
"quote \" inside"    #> quote " inside
"π ≈ {pi:.4f}"       #> π ≈ 3.1416
str(1, "and", 2.5)   #> 1 and 2.5
str("a")             #> a
"a" == "a"           #> true
"a" == "b"           #> false
"a" != "b"           #> true
name = "World"
"Hello, {name}!"     #> Hello, World!
f(s) = "<{s}>"
f("x")               #> <x>
f(2)                 #> <2>
"{(a = 1, b = 2)}"   #> (a = 1, b = 2)
"{(1, "two")}"       #> (1, "two")
kind("s")            #> string
print("plain", 1, 2.5)       #> plain 1 2.5
print("{x:.1f}")     #> 3.1
greet(n) = { print("n =", n); n + 1 }
greet(1)             #> 2
for i in 0..3 { print(i) }   #> 0
#> 1
#> 2
i = 5
"{i:4d}|"            #> 5|
"{i:04d}"            #> 0005
"{-1.5:+.1f}"        #> -1.5
"{2.5:+.1f}"         #> +2.5

# Adjacent literals are one string, across lines inside brackets.
"one " "two"         #> one two
"{1}" "{2} " "three" #> 12 three
len("ab" "" "cd")    #> 4
("a long " "{"text" " here"}"
  ", {x:.1f}")       #> a long text here, 3.1
