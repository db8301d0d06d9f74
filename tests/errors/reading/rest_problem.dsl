#! error E0104 2:13-2:17 "a problem has the parameters that it names, and no others"
problem p(; ...o) {
  domain t in [0, 1]
}
