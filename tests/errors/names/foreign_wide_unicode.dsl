#! error E0201 2:12-2:23 "no `nosuch_name`"
s = "日本" * nosuch_name
