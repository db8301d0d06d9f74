#! error E0605 2:1-2:30 "animate: the film needs a file, whose name ends in .gif, .png or .apng"
animate(k -> plot([1, 2]), 3)
