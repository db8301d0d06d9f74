#! error E0803 2:1-2:41 "the x coordinates of a field must be finite and rise or fall strictly; number 1 does not"
contour([1.0, 1], [1.0, 2], zeros(2, 2))
