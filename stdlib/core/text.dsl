# text.dsl - text: finding, cutting, joining, changing; numbers from text are
# f64(s), i64(s) ..., text from values "{x:.3f}" and str(x).
#
# A text is a sequence of characters of Unicode: len(s) counts them, s[2] is the
# third, s[-1] the last, s[1..4] and s[.. by -1] are parts. `split`, `repeat`
# and `count` serve texts, too. Texts have no derivatives.

# lines(s): a list of the lines of a text, without their ends
#     lines("one\ntwo\n")           #> list("one", "two")
lines(s) = _text_lines(s)
# chars(s): a list of the characters of a text
#     chars("aπ")                   #> list("a", "π")
chars(s) = _text_chars(s)
# join(parts, between = ""): the texts of a list or tuple, one behind the other;
# other values, and the elements of a vector, as str writes them
#     join(("a", "b", "c"), ", ")   #> a, b, c
#     join([1.5, 2], ";")           #> 1.5;2.0
join(parts, between = "") = _text_join(parts, between)
# replace(s, part, by): with every part replaced
#     replace("a-b-c", "-", "+")    #> a+b+c
replace(s, part, by) = _text_replace(s, part, by)
# find(s, part, start = 0): the place of the first such part from `start` on, -1
# when there is none
#     find("banana", "an")          #> 1
#     find("banana", "an", 2)       #> 3
find(s, part, start = 0) = _text_find(s, part, start)
# contains(s, part): whether a part is in a text; whether a value is one of an
# array, or of a list of numbers and texts
#     contains("banana", "nan")     #> true
#     contains([1, 2], 3)           #> false
contains(s, part) = if kind(s) == "array" { any(ravel(s == part)) } else { _text_contains(s, part) }
# starts_with(s, part), ends_with(s, part): whether a text begins, ends with it
#     starts_with("data.csv", "data")     #> true
#     ends_with("data.csv", ".npy")       #> false
starts_with(s, part) = _text_starts(s, part)
ends_with(s, part) = _text_ends(s, part)
# upper(s), lower(s): in capitals, in small letters, of the Latin, Greek and
# Cyrillic alphabets
#     upper("über α")               #> ÜBER Α
#     lower("Hello")                #> hello
upper(s) = _text_case(s, true)
lower(s) = _text_case(s, false)
# trim(s), trim_start(s), trim_end(s): without the blanks and line ends at both
# ends, at the start, at the end
#     "[" + trim("  a b ") + "]"    #> [a b]
trim(s) = _text_trim(s, 3)
trim_start(s) = _text_trim(s, 1)
trim_end(s) = _text_trim(s, 2)
# pad_start(s, width, by = " "), pad_end(s, width, by = " "): filled up to a
# width with a character, in front or behind
#     pad_start("7", 3, "0")        #> 007
#     pad_end("ab", 4, ".")         #> ab..
pad_start(s, width, by = " ") = _text_pad(s, width, by, true)
pad_end(s, width, by = " ") = _text_pad(s, width, by, false)
# codes(s): i64[n], the numbers of the characters in Unicode
#     codes("aπ")                   #> [97, 960]
codes(s) = _text_codes(s)
# from_codes(k): the text of these characters
#     from_codes([97, 960])         #> aπ
from_codes(k) = _text_of_codes(k)
