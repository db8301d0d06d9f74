# _special_table.dsl - criteria for the rows of _special_reference.dsl, used by
# special_table.dsl and scripts/docs/special_page.sh.

# The largest error of a function at its points; inf where it is NaN.
error_of(r) = {
  e = abs(r.f(...r.x) - r.y) / (abs(r.y) * max(1, r.condition / 1000))
  max(where(e == e, e, inf))
}
# Errors of a few units in the last place, or within a factor of two, count as
# equal.
ROUNDING = 1e-14
judge(r) = {
  e = error_of(r)
  assert(e <= 1e-12, "{r.name} is {e:.1e} off")
  if r.scipy >= 0 { assert(e <= max(2 * r.scipy, ROUNDING), "{r.name} is {e:.1e} off, and {r.scipy:.1e} of SciPy") }
}
# A row of docs/reference/special.md.
line(r) = {
  peer = if r.scipy < 0 { "-" } else if r.scipy == inf { "nan" } else { _short(r.scipy) }
  "{r.group}|{r.name}|{len(r.y)}|{_short(error_of(r))}|{peer}"
}
_short(e) = if e == 0 { "0" } else { "{e:.0e}" }
