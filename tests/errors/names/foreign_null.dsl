#! error E0201 2:5-2:9 "no `null`" hint "no value is written none"
x = null
