#! error E0201 2:7-2:17 "no `qqqqqqqqqq`"
print(qqqqqqqqqq)
