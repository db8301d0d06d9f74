#! error E0803 2:1-2:42 "panel 0: the limits of the logarithmic x axis must be greater than 0"
plot([1, 2], logx = true, xlim = (-1, 1))
