#! error E0201 2:1-2:4 "no `nil`" hint "no value is written none"
nil
