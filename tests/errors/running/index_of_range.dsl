#! error E0601 2:8-2:9 "index 7 is out of range for length 5"
(0..5)[7]
