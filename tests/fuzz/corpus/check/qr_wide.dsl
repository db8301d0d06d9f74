(nts, dimensions) = (300, 20)
directions = qr(randn(dimensions, 2))[0]
(nts, dimensions) = (300, 20)
directions = qr(randn(dimensions, 22))[0]
directions = qr(directionsrandn(dimensions, 2))[0]
(nts, dimensions) = (300, )
