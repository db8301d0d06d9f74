#! error E0201 3:10-3:21 "no `nosuch_name`"
f(x) = {
	y = x + nosuch_name
	y
}
f(1)
