#! error E0803 2:1-2:43 "a picture's file ends in .svg, .png or .pdf"
plot([1, 2], [1, 2], file = "picture.jpg")
