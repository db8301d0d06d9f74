#! error E0201 5:12-5:18 "no `widths`; did you mean `width`?"
area(r) = {
  width = 2.5
  widthx = x -> x
  height + widths * r
}
height = 1.0
area(2.0)
