#! error E0801 2:1-2:31 "quote.csv:2: the quote that begins here has no end"
load("tests/io/bad/quote.csv")
