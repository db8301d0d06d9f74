#! error E0203 2:16 "`linspace` has no argument `num`" hint "here it is called n"
linspace(0, 1, num=5)
