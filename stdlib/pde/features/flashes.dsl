# flashes.dsl - detection of features that are narrow in time and in space at
# the same time.
#
# Values that depend on one coordinate alone are sampled along its span
# (narrow_peaks.dsl). A flash, such as exp(-(x - a)²/w² - (t - b)²/w²), is
# visible along t only at places near a, and along x only at times near b.
#
# Method: values that depend on all coordinates are sampled at 4096 quasi-random
# points. Lines along each coordinate go through the points of their maxima and
# minima. For a flash with long tails such a point need not be in it.

# Returns for problems in t and space: at: f64[n, coordinates], those places,
# for the first four values; brief: f64[n], 1 where a value is extreme only for
# a short time and not part of a moving feature (always 1 unless asked). n may
# be 0. Cost: 4096 values of the problem, and 2048 more for each place if asked.
_flashes_of(info, asked) = {
  none_ = (at = zeros(0, len(info.coords)), brief = zeros(0))
  if info.time < 0 or len(info.space) == 0 { none_ } else {
    (of, frame) = (_by_places(info), _frame(info))
    k = len(_watched_at(of, _middle_of(info)))
    if _is_fixed(k) and k > 0 and k <= 64 {
      _primal(() -> _flashes_among(frame, of, min(k, 4), asked))
    } else {
      none_
    }
  }
}
_flashes_among(info, of, many, asked) = {
  n = 4096
  all = _spot_range(p -> _watched_at(of, p), i -> _even_point(info, i), n)
  (at, brief) = (zeros(2 * many, len(info.coords)), ones(2 * many))
  for k in 0..2 * many {
    p = _even_point(info, if k % 2 == 0 { all.highest[k // 2] } else { all.lowest[k // 2] })
    at[k] = p
    if asked {
      # At all times except those within an eighth of the span.
      span = info.hi[info.time] - info.lo[info.time]
      own = (p[info.time] - info.lo[info.time]) / span
      late = i -> _moved_along(_even_point(info, i), info.time,
        info.lo[info.time] + span * ((own + 0.125 + 0.75 * _even_part(info, i, info.time)) % 1.0))
      r = _spot_range(v -> expand(_watched_at(of, v)[k // 2], 0), late, n // 2)
      (low, high) = (all.low[k // 2], all.high[k // 2])
      gone = if k % 2 == 0 { high - r.high[0] } else { r.low[0] - low }
      brief[k] = f64(gone > 0.7 * (high - low) and high - low < inf)
    }
  }
  (at = at, brief = brief)
}
# Returns the coordinates of point i of a quasi-random sequence in all
# coordinates, f64[coordinates]: multiples of powers of the root of x^(d + 1) ==
# x + 1. [Source: M. Roberts, The Unreasonable Effectiveness of Quasirandom
# Sequences, 2018]
_even_point(info, i) =
  stack(...map(j -> info.lo[j] + (info.hi[j] - info.lo[j]) * _even_part(info, i, j),
    each(len(info.coords))))
_even_part(info, i, j) = (0.5 + (i + 1) * _plastic(len(info.coords))^(-1.0 - j)) % 1.0
