# Formats in strings: with a letter as in C. Without a letter the precision is
# the number of significant digits, and a width alone pads.
"{1.55555:.3}|"              #> 1.56|
"{1.5:8}|"                   #> 1.5|
len("{1.5:8}")               #> 8
len("{"ab":-5}")             #> 5
"{2:5d}|{[1.0, 2]:.2f}"      #> 2|[1.00, 2.00]
"{1:}"                       #> 1
