s = "α\t\"{1/3:.3f}\" {{}}"
len(s); s + s; s == "x"; split("a,b", ","); upper(s)
