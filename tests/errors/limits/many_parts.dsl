#! error E0903 4:22-4:28 "a value of more than 1048576 parts"
# A value that shares its parts is walked part by part.
x = (1, 2)
for i in 0..40 { x = (x, x) }
