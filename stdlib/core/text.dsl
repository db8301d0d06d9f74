# text.dsl - strings: searching, splitting, joining and changing them.
#
# f64(s), i64(s) ... convert strings to numbers; "{x:.3f}" and str(x) convert
# values to strings.
#
# A string is a sequence of Unicode characters: len(s) counts them, s[2] is the
# third, s[-1] the last. s[1..4] and s[.. by -1] are substrings. `split`,
# `repeat` and `count` accept strings, too. Strings have no derivatives.

# lines(s): a list of the lines of a string, without line ends
#     lines("one\ntwo\n")           #> list("one", "two")
lines(s) = _text_lines(s)
# chars(s): a list of the characters of a string
#     chars("aπ")                   #> list("a", "π")
chars(s) = _text_chars(s)
# join(parts, between = ""): concatenates the strings of a list or tuple, with
# `between` between them. Other values, and the elements of a vector, are
# converted as by str.
#     join(("a", "b", "c"), ", ")   #> a, b, c
#     join([1.5, 2], ";")           #> 1.5;2.0
join(parts, between = "") = _text_join(parts, between)
# replace(s, part, by): s with every occurrence of part replaced by `by`
#     replace("a-b-c", "-", "+")    #> a+b+c
replace(s, part, by) = _text_replace(s, part, by)
# find(s, part, start = 0): index of the first occurrence of part from `start`
# on, -1 when there is none
#     find("banana", "an")          #> 1
#     find("banana", "an", 2)       #> 3
find(s, part, start = 0) = _text_find(s, part, start)
# contains(s, part): whether s contains a substring. For an array, or a list of
# numbers and strings: whether a value is one of its elements.
#     contains("banana", "nan")     #> true
#     contains([1, 2], 3)           #> false
contains(s, part) = if kind(s) == "array" { any(ravel(s == part)) } else { _text_contains(s, part) }
# starts_with(s, part), ends_with(s, part): whether a string begins or ends with
# part
#     starts_with("data.csv", "data")     #> true
#     ends_with("data.csv", ".npy")       #> false
starts_with(s, part) = _text_starts(s, part)
ends_with(s, part) = _text_ends(s, part)
# upper(s), lower(s): s in upper or lower case, for the Latin, Greek and
# Cyrillic alphabets
#     upper("über α")               #> ÜBER Α
#     lower("Hello")                #> hello
upper(s) = _text_case(s, true)
lower(s) = _text_case(s, false)
# trim(s), trim_start(s), trim_end(s): s without blanks and line ends at both
# ends, at the start, at the end
#     "[" + trim("  a b ") + "]"    #> [a b]
trim(s) = _text_trim(s, 3)
trim_start(s) = _text_trim(s, 1)
trim_end(s) = _text_trim(s, 2)
# pad_start(s, width, by = " "), pad_end(s, width, by = " "): s filled to a
# width with a character, at the start or the end
#     pad_start("7", 3, "0")        #> 007
#     pad_end("ab", 4, ".")         #> ab..
pad_start(s, width, by = " ") = _text_pad(s, width, by, true)
pad_end(s, width, by = " ") = _text_pad(s, width, by, false)
# codes(s): i64[n], the Unicode code points of the characters
#     codes("aπ")                   #> [97, 960]
codes(s) = _text_codes(s)
# from_codes(k): the string with these code points
#     from_codes([97, 960])         #> aπ
from_codes(k) = _text_of_codes(k)
