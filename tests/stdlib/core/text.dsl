# String functions, on strings known at specialisation time and on strings made
# at run time.
s = "one two  three"
split(s)                     #> list("one", "two", "three")
split(s, " ")                #> list("one", "two", "", "three")
split("", ",")               #> list("")
split("")                    #> list()
len(split("a,b,c", ","))     #> 3
(a, b) = split("k = v", " = ")
b + a                        #> vk
lines("a\r\nb\n\nc")         #> list("a", "b", "", "c")
chars("añ∂")                 #> list("a", "ñ", "∂")
join(split("a,b", ","), "-") #> a-b
join(("x", 1, 2.5))          #> x12.5
join([1, 2, 3], " + ")       #> 1 + 2 + 3
join(list(), ",")            #>
replace("aaa", "aa", "b")    #> ba
replace("abc", "x", "y")     #> abc
find("πππ", "π", 1)          #> 1
find("abc", "d")             #> -1
find("abcabc", "a", -3)      #> 3
find("abc", "")              #> 0
contains("abc", "")          #> true
starts_with("abc", "abcd")   #> false
upper("straße, été, жук, ως")        #> STRAßE, ÉTÉ, ЖУК, ΩΣ
lower("ÀÉ ΑΩ ЖУК ÷×")        #> àé αω жук ÷×
upper("ā")                   #> Ā
trim("\t x \n")              #> x
"<" + trim_start("  x ") + ">"       #> <x >
"<" + trim_end("  x ") + ">"         #> <  x>
repeat("ab", 0)              #>
pad_start("π", 3, "*")       #> **π
pad_end("long", 2)           #> long
codes("A")                   #> [65]
from_codes(codes("a∂😀"))    #> a∂😀
len("∂😀")                   #> 2
count("aaaa", "aa")          #> 2

# characters and slices
s = "aπbc"
s[0]                         #> a
s[1]                         #> π
s[-1]                        #> c
s[1..3]                      #> πb
s[..-1]                      #> aπb
s[2..]                       #> bc
s[.. by -1]                  #> cbπa
s[0.. by 2]                  #> ab
s[1..1]                      #>

# numbers from strings
i64("12")                    #> 12
i64("-1_000")                #> -1000
i64("0xff") + i64("0b101") + i64("0o17")     #> 275
i32("7") + 1                 #> 8
dtype(i32("7"))              #> i32
f64("1.5e3")                 #> 1500.0
f64("  -2 ")                 #> -2.0
f64("inf")                   #> inf
f64("-.5")                   #> -0.5
isnan(f64("nan"))            #> true
f32("0.1")                   #> 0.1
c128("2")                    #> 2 + 0im
bool("true")                 #> true
why(f) = try { f(); "fine" } catch m { m }
why(() -> f64("1.5x"))       #> cannot read "1.5x" as f64
why(() -> f64(""))           #> cannot read "" as f64
why(() -> f64("0x10"))       #> cannot read "0x10" as f64
why(() -> i64("1.5"))        #> cannot read "1.5" as i64
why(() -> i64("99999999999999999999"))       #> cannot read "99999999999999999999" as i64: it is too large
why(() -> i32("3000000000")) #> cannot read "3000000000" as i32: it is too large
why(() -> bool("yes"))       #> cannot read "yes" as bool
why(() -> split("a", ""))    #> split needs a separator that is not empty; chars(s) has the characters
why(() -> "abc"[3])          #> index 3 is out of range for a string of 3 characters
why(() -> "abc"[1..5])       #> the slice 1..5 is out of range for a string of 3 characters
why(() -> from_codes([55296]))       #> 55296 is no character
why(() -> upper(3))          #> upper or lower takes a string

# strings made at run time
f(x) = {
  s = "{x}, {x + 1}, {x + 2}"
  total = 0
  for part in split(s, ", ") { total += i64(part) }
  (total, len(split(s, ",")), contains(s, "5"), find(s, ","), upper(s)[0], len(s))
}
f(4)                         #> (15, 3, true, 1, "4", 7)
g(n) = { s = ""; for k in 0..n { s = s + str(k) }; s }
g(4)                         #> 0123
len(g(12))                   #> 14
h(x) = if starts_with(str(x), "1") { "one" } else { "other" }
h(12)                        #> one
sum(codes(g(3)) - 48)        #> 3
first_word(n) = { w = split(repeat("ab ", n)); w[n - 1] }
first_word(3)                #> ab
m = { t = 0; for w in split(repeat("ab ", 1000)) { t += len(w) }; t }
m                            #> 2000
c = clock()
clock() >= c                 #> true

# order, loops, lists
"b" > "a"                    #> true
"Ab" < "a" <= "a"            #> true
"π" > "z"                    #> true
sort(list("b", "a", "ab"))   #> list("a", "ab", "b")
sort(("b", "a"); descending = true)  #> ("b", "a")
try { sort(list("b", str(1))[0..2])[0] } catch m { m }       #> 1
between(x) = { s = str(x); if "1" < s < "3" and s != "25" { "in" } else { "out" } }
between(25)                  #> out
between(26)                  #> in
flip("aπc")                  #> cπa
flip(list(1, "a"))           #> list("a", 1)
list(1, 2, 3, 4)[.. by -2]   #> list(4, 2)
list(1, 2, 3, 4)[2..0 by -1] #> list(3, 2)
contains(list("a", 2), 2)    #> true
contains(("a", "b"), "c")    #> false
contains([1, 2; 3, 4], 4)    #> true
for c in "aπ" { print(c) }
#> a
#> π
ones_in(x) = { n = 0; for c in str(x) { if c == "1" { n += 1 } }; n }
ones_in(11213)               #> 3
sorted_with(x) = sort(split(str(x) + " 3 10"))
sorted_with(2)               #> list("10", "2", "3")
words = split(repeat("alpha beta ", 5000))
n = 0
for w in words { if starts_with(w, "b") and w != "x" { n += len(w + "!") } }
n                            #> 25000
backwards(s) = { r = ""; for c in str(s) { r = c + r }; r }
backwards(1234)              #> 4321
