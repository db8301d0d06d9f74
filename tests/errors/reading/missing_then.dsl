#! error E0104 2:8-2:8 "expected `{` after the condition of `if`, found the end of the text"
if true
