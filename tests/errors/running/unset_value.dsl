#! error E0604 2:5-2:18 "stop"
x = error("stop")
