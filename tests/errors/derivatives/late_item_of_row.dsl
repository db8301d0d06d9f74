#! error E0401 5:25-5:30 "differ from lane to lane"
number(x: f64) = x
map(y -> { i = 0
    while i < 1 { i = i + 1 }
    number(list(y, "a")[i - 1]) }, [1.0, 2])
