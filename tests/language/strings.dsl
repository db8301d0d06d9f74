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

# A string may contain the character NUL, whether it is known before the program
# runs or not. `late` is unknown until then.
late(s) = { t = s; for i in 0..1 { t = t + "" }; t }
nul = "a\u{0}b"
function_of(s) = (
  codes(s), len(s + "c"), len("{s}c"), len("<{s}>"), len(str(s, 1)), len(upper(s)), len(split(s, "b")),
  len(replace(s, "b", "cc")), find(s, "b"), s == "a", s < "a\u{0}c", codes(s + "{s}")
)
function_of(nul)[0]                   #> [97, 0, 98]
function_of(nul)[1..5]                #> (4, 4, 5, 5)
function_of(nul)[11]                  #> [97, 0, 98, 97, 0, 98]
same(function_of(nul), function_of(late(nul)))        #> true
has((a = 1), nul)                     #> false
field((a = 1), nul, 7)                #> 7
len(replace("axb", "x", "\u{0}") + "c")               #> 4

# Long strings are computed while the program runs; their length is right.
double(s, n) = { t = s; for i in 0..n { t = t + t }; t }
len(double("ab", 20))                 #> 2097152
k = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
k4 = k + k + k + k
k16 = "{k4}{k4}{k4}{k4}"
k64 = k16 + k16 + k16 + k16
k256 = k64 + k64 + k64 + k64
k1024 = k256 + k256 + k256 + k256
k4096 = "{k1024}{k1024}{k1024}{k1024}"
k16384 = k4096 + k4096 + k4096 + k4096
k65536 = "{k16384}{k16384}{k16384}{k16384}"
(len(k1024), len(k4096), len(k16384), len(k65536))    #> (65536, 262144, 1048576, 4194304)
k65536[4194303]                       #> f
len("{k65536:.5s}|")                  #> 6
