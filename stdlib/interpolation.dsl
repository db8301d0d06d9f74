# interpolation.dsl - functions through given points: on a line piecewise linear and cubic, in one piece by polynomials, and linear on grids.

# How many elements of the ascending vector a are <= v, for each v, by halving: O(log len(a)) each
_count_up_to(a, v) = {
  low = i64(0 * v)
  high = low + len(a)
  while any(low < high) {
    mid = (low + high) // 2
    open = low < high
    up = open and a[min(mid, len(a) - 1)] <= v
    low = where(up, mid + 1, low)
    high = where(open and not up, mid, high)
  }
  low
}
