#! error E0803 2:1-2:41 "there is no colour \"blu\"; it is one of blue, red, green, purple, orange, sky, grey, brown, black, white, gray, #rrggbb"
plot([1.0, 2], [1.0, 2], colour = "blu")
