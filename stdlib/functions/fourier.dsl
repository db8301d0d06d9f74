# fourier.dsl - Fourier, cosine and sine transforms, convolutions and spectra.
# All are built from fft and ifft and linear, so their derivatives are
# transforms, too.

# x with `axis` and the last axis exchanged; this is its own inverse.
_last_axis(x, axis) = {
  a = _transform_axis(x, axis)
  r = rank(x)
  if a == r - 1 { x } else { transpose(x, (...(0..a), r - 1, ...(a + 1..r - 1), a)) }
}

_transform_axis(x, axis) = {
  if kind(x) != "array" or rank(x) == 0 {
    _refuse("a transform takes an array with an axis, not {_axes_in_words(x)}")
  }
  r = rank(x)
  assert(-r <= axis and axis < r, "no axis {axis}: there are {r}, counted from 0")
  (axis + r) % r
}

# rfft(x; axis): the first n//2 + 1 elements of fft(x) of a real x. The others
# are their conjugates.
#     rfft([1.0, 2, 3, 4])        #> [10 + 0im, -2 + 2im, -2 + 0im]
rfft(x; axis = -1) = {
  _want_real("rfft", x)
  h = _last_axis(x, axis)
  assert(shape(h)[-1] > 0, "rfft of no elements: there is no frequency 0 without them")
  y = fft(h)
  _last_axis(y[..., ..shape(y)[-1] // 2 + 1], axis)
}
# irfft(y; n, axis): the real x of extent n with rfft(x) = y; by default n =
# 2(len(y) - 1)
#     irfft(rfft([1.0, 2, 3]); n = 3)   #~ [1, 2, 3]
irfft(y; n = none, axis = -1) = {
  h = _last_axis(y, axis)
  last = shape(h)[-1]
  m = if kind(n) == "none" { 2 * (last - 1) } else { n }
  assert(m > 0,
    "irfft: a result of {m} elements, from {last}; its length is n = 2({last} - 1) unless given")
  first = m // 2 + 1
  assert(first <= last, "irfft: {last} elements are too few for a result of length {m}")
  other = conj(h[..., (m - 1) // 2 - iota((m - 1) // 2)])
  # elements that are real in the spectrum of a real x are taken as real
  at = iota(first)
  mine = where(at == 0 or 2 * at == m, real(h[..., ..first]) + 0im, h[..., ..first])
  _last_axis(real(ifft(concat(mine, other; axis = rank(h) - 1))), axis)
}
# fft2(x), ifft2(x): two-dimensional Fourier transform of the last two axes, and
# its inverse
#     fft2([1, 2; 3, 4])          #> [[10 + 0im, -2 + 0im], [-4 + 0im, 0 + 0im]]
fft2(x) = fft(fft(x; axis = -1); axis = -2)
# ifft2(x): see fft2
#     real(ifft2(fft2([1, 2; 3, 4])))   #~ [1, 2, 3, 4]
ifft2(x) = ifft(ifft(x; axis = -1); axis = -2)
# fftn(x), ifftn(x): Fourier transform of all axes, and its inverse
#     fftn(ones(2, 2, 2))[0, 0, 0]   #> 8 + 0im
fftn(x) = {
  y = x + 0im
  for k in each(rank(x)) { y = fft(y; axis = k) }
  y
}
# ifftn(x): see fftn
#     real(ifftn(fftn([1, 2; 3, 4])))   #~ [1, 2, 3, 4]
ifftn(x) = {
  y = x + 0im
  for k in each(rank(x)) { y = ifft(y; axis = k) }
  y
}
# fftshift(x; axis): moves frequency 0 to the middle of an axis, by default of
# all axes
#     fftshift([0, 1, 2, -2, -1])   #> [-2, -1, 0, 1, 2]
fftshift(x; axis = none) = _shifted(x, axis, 1)
# ifftshift(x; axis): the inverse of fftshift
#     ifftshift([-2, -1, 0, 1, 2])  #> [0, 1, 2, -2, -1]
ifftshift(x; axis = none) = _shifted(x, axis, 0)
_shifted(x, axis, up) = if kind(axis) == "none" {
  y = x
  for k in each(rank(x)) { y = _turned(y, k, up) }
  y
} else { _turned(x, axis, up) }
_turned(x, axis, up) = {
  y = _last_axis(x, axis)
  k = (shape(y)[-1] + up) // 2
  _last_axis(concat(y[..., k..], y[..., ..k]; axis = rank(y) - 1), axis)
}
# fftfreq(n; d): frequencies of the elements of fft of n samples with spacing d,
# in cycles per unit
#     fftfreq(4)                  #> [0, 0.25, -0.5, -0.25]
fftfreq(n; d = 1.0) = {
  k = iota(n)
  where(k < (n + 1) // 2, k, k - n) / (n * d)
}
# rfftfreq(n; d): frequencies of the elements of rfft of n samples with spacing
# d
#     rfftfreq(4)                 #> [0, 0.25, 0.5]
rfftfreq(n; d = 1.0) = iota(n // 2 + 1) / (n * d)

# dct(x; type, axis, ortho): discrete cosine transform of type 1, 2 (the
# default) or 3.
#   Complex x is transformed by real and imaginary parts. Type 2: y_k = 2 sum_n
#   x_n cos(pi k (2n + 1) / (2N)). ortho = true scales types 2 and 3 to an
#   orthogonal matrix. [Britanak, Yip, Rao, Discrete Cosine and Sine Transforms,
#   2007]
#     dct([1.0, 2, 3])            #~ [12, -2sqrt(3), 0]
dct(x; type = 2, axis = -1, ortho = false) =
  _by_parts(x -> _last_axis(_dct(_last_axis(x, axis), type, ortho), axis), x)
# idct(y; type, axis, ortho): inverse of the dct of that type
#     idct(dct([1.0, 2, 4]))      #~ [1, 2, 4]
idct(y; type = 2, axis = -1, ortho = false) = _by_parts(y -> _idct(y, type, axis, ortho), y)
_idct(y, type, axis, ortho) = {
  h = _last_axis(y, axis)
  n = shape(h)[-1]
  r = if type == 1 {
    _dct(h, 1, ortho) / (2 * (n - 1))
  } else {
    if ortho { _dct(h, 5 - type, true) } else { _dct(h, 5 - type, false) / (2 * n) }
  }
  _last_axis(r, axis)
}
# Applies a real linear map to the real and the imaginary part.
_by_parts(f, x) = if _is_complex(x) { f(real(x)) + 1im * f(imag(x)) } else { f(x) }
_want_real(name, x) =
  if _is_complex(x) { _refuse("{name} takes real numbers; fft takes complex ones") }
_dct(x, type, ortho) = {
  assert(type == 1 or type == 2 or type == 3, "dct knows the types 1, 2 and 3, not {type}")
  n = shape(x)[-1]
  k = iota(n)
  turn = _as_complex_of(exp(-im * (0.5 * π / n) * k), x)
  last = rank(x) - 1
  root = _like(where(k == 0, sqrt(0.25 / n), sqrt(0.5 / n)), x)
  if type == 1 {
    assert(not ortho, "dct of type 1 has no orthogonal form here")
    assert(n > 1, "dct of type 1 takes at least two elements")
    real(fft(concat(x, x[..., n - 2 - iota(n - 2)]; axis = last)))[..., ..n]
  } else { if type == 2 {
    y = real(fft(concat(x, x[..., n - 1 - k]; axis = last))[..., ..n] * turn)
    if ortho { y * root } else { y }
  } else {
    # scaled like the transpose of type 2
    z = if ortho { x * _like(where(k == 0, sqrt(1 / n), sqrt(0.5 / n)), x) } else { x }
    spread = z * where(k == 0, 1.0, 2.0) * turn
    real(fft(concat(spread, 0 * spread; axis = last)))[..., ..n]
  } }
}
# dst(x; type, axis): discrete sine transform of type 1, 2 (the default) or 3.
#   Complex x is transformed by real and imaginary parts. Type 2: y_k = 2 sum_n
#   x_n sin(pi (k + 1) (2n + 1) / (2N)).
#     dst([1.0, 1])               #~ [2sqrt(2), 0]
dst(x; type = 2, axis = -1) = _by_parts(x -> _sines(x, type, axis), x)
_sines(x, type, axis) = if type == 1 and dtype(x) == "f64" {
  _sine_sums(x, _transform_axis(x, axis))
} else { _last_axis(_dst(_last_axis(x, axis), type), axis) }
# idst(y; type, axis): inverse of the dst of that type
#     idst(dst([1.0, 2, 4]))      #~ [1, 2, 4]
idst(y; type = 2, axis = -1) = _by_parts(y -> _sines_back(y, type, axis), y)
_sines_back(y, type, axis) = if type == 1 and dtype(y) == "f64" {
  _from_sine_sums(y, _transform_axis(y, axis))
} else if type == 1 { dst(y; type = 1, axis = axis) / (2 * (shape(y)[axis] + 1)) } else {
  h = _last_axis(y, axis)
  _last_axis(_dst(h, 5 - type) / (2 * shape(h)[-1]), axis)
}
_dst(x, type) = {
  assert(type == 1 or type == 2 or type == 3, "dst knows the types 1, 2 and 3, not {type}")
  if shape(x)[-1] == 0 { x + 0.0 } else { _dst_of_some(x, type) }
}
_dst_of_some(x, type) = {
  n = shape(x)[-1]
  k = iota(n)
  turn = _as_complex_of(exp(-im * (0.5 * π / n) * (k + 1)), x)
  last = rank(x) - 1
  zero = 0 * x[..., ..1]
  if type == 1 {
    -imag(fft(concat(zero, x, zero, -x[..., n - 1 - k]; axis = last)))[..., 1..n + 1]
  } else {
    if type == 2 {
      -imag(fft(concat(x, -x[..., n - 1 - k]; axis = last))[..., 1..n + 1] * turn)
    } else {
      spread = x * where(k == n - 1, 1.0, 2.0) * turn
      -imag(fft(concat(zero + 0im, spread, 0 * spread[..., ..n - 1]; axis = last)))[..., ..n]
    }
  }
}

# Real transforms (solvers/fft/real_transforms.c) along an axis. The
# half-complex layout has the real parts of the Fourier modes 0 to n/2, then the
# imaginary parts in reverse order, n scalars in all. The functions are: the
# transform to this layout, its inverse, the discrete sine transform of type 1
# (sums of 2 x_j sin(π (j + 1)(k + 1)/(n + 1))), and its inverse.
_half_waves(x, axis) = _host("real_lines", (), (x,), (0, axis, 1))[0]
_from_half_waves(w, axis) = _host("real_lines", (), (w,), (1, axis, 1))[0]
_sine_sums(x, axis) = _host("real_lines", (), (x,), (2, axis, 1))[0]
_from_sine_sums(x, axis) = _host("real_lines", (), (x,), (3, axis, 1))[0]
# The same for two arrays stored one after the other.
_half_waves_of_two(x) = _host("real_lines", (), (x,), (0, 0, 2))[0]
_two_from_half_waves(w) = _host("real_lines", (), (w,), (1, 0, 2))[0]
# The rows of the transform are orthogonal. Returns their squared norms,
# broadcast along the axis.
_half_squares(x, axis) = {
  n = shape(x)[axis]
  k = iota(n)
  reshape(where(k == 0 or 2 * k == n, 1.0 * n, 0.5 * n),
    ...map(q -> if q == axis { n } else { 1 }, (...(0..rank(x)),)))
}
derivative _half_waves(x, axis), dx, daxis =
  linear_map(v -> _half_waves(v, axis), w -> _from_half_waves(_half_squares(w, axis) * w, axis), dx)
derivative _from_half_waves(w, axis), dw, daxis =
  linear_map(v -> _from_half_waves(v, axis), x -> _half_waves(x, axis) / _half_squares(x, axis), dw)
_squares_of_two(x) = { s = _half_squares(x[..len(x) // 2], 0); concat(s, s) }
derivative _half_waves_of_two(x),
  dx = linear_map(_half_waves_of_two, w -> _two_from_half_waves(_squares_of_two(w) * w), dx)
derivative _two_from_half_waves(w),
  dw = linear_map(_two_from_half_waves, x -> _half_waves_of_two(x) / _squares_of_two(x), dw)
derivative _sine_sums(x, axis), dx,
  daxis = linear_map(v -> _sine_sums(v, axis), v -> _sine_sums(v, axis), dx)
derivative _from_sine_sums(x, axis), dx, daxis =
  linear_map(v -> _from_sine_sums(v, axis), v -> _from_sine_sums(v, axis), dx)

# convolve(a, b; mode, method): convolution of vectors, sum over j of a_j
# b_{k-j}.
#   mode "full" gives all len(a) + len(b) - 1 elements; "same" the middle ones,
#   as many as the longer vector has; "valid" those where both overlap fully.
#   method "direct" sums; "fft" uses transforms, with rounding errors relative
#   to the largest element. By default the cheaper one is used; integers use
#   exact sums.
#     convolve([1, 2, 3], [1, 1])   #> [1, 3, 5, 3]
#     convolve([1, 2, 3], [1, 1]; mode = "valid")   #> [3, 5]
convolve(a, b; mode = "full", method = "auto") = {
  assert(rank(a) == 1 and rank(b) == 1, "convolve takes vectors")
  assert(len(a) > 0 and len(b) > 0, "convolve takes vectors that are not empty")
  exact = dtype(a) == "i64" and dtype(b) == "i64"
  full = if method == "direct" or (method == "auto" and exact) { _convolve_sums(a, b) } else {
    if method == "fft" { _convolve_fft(a, b) } else {
      if min(len(a), len(b)) <= 60 { _convolve_sums(a + 0.0, b + 0.0) } else { _convolve_fft(a, b) }
    }
  }
  long = max(len(a), len(b))
  short = min(len(a), len(b))
  if mode == "full" { full } else {
    if mode == "same" { full[(short - 1) // 2..(short - 1) // 2 + long] } else {
      if mode != "valid" { _refuse("convolve has the modes \"full\", \"same\" and \"valid\"") }
      full[short - 1..long]
    }
  }
}
_convolve_sums(a, b) = if len(a) < len(b) { _convolve_by(b, a) } else { _convolve_by(a, b) }
_convolve_by(a, b) = {
  i = iota(len(a))
  y = zeros_like(a[0] * b[0] * iota(len(a) + len(b) - 1))
  for k in 0..len(b) { y[i + k] += b[k] * a }
  y
}
_convolve_fft(a, b) = {
  y = ifft(fft(concat(a + 0.0, zeros(len(b) - 1))) * fft(concat(b + 0.0, zeros(len(a) - 1))))
  if dtype(a[0] * b[0]) == "c128" or dtype(a[0] * b[0]) == "c64" { y } else { real(y) }
}
# correlate(a, b; mode, method): cross-correlation of vectors, sum over j of
# a_{j+k} conj(b_j), for k >= -(len(b) - 1). Modes and methods are those of
# convolve.
#     correlate([1, 2, 3], [0, 1, 0.5])   #> [0.5, 2, 3.5, 3, 0]
correlate(a, b; mode = "full", method = "auto") =
  convolve(a, conj(b[.. by -1]); mode = mode, method = method)
# spectral_derivative(u; length, order, axis): derivative of a periodic function
# from samples at equal distances over one period of this length.
#   It is exact for trigonometric polynomials that the samples determine.
#   [Trefethen, Spectral Methods in MATLAB, 2000, ch. 3]
#     x = 2π * iota(16) / 16
#     max(abs(spectral_derivative(sin(x)) - cos(x))) < 1e-13   #> true
spectral_derivative(u; length = 6.283185307179586, order = 1, axis = -1) = {
  h = _last_axis(u, axis)
  n = shape(h)[-1]
  k = _like(fftfreq(n; d = length / n) * 6.283185307179586, u)
  # samples do not determine an odd derivative of the highest frequency
  kept = if order % 2 == 1 { where(2 * iota(n) == n, 0.0, k) } else { k }
  y = ifft(fft(h) * (im * kept)^order)
  _last_axis(if dtype(u) == "c128" or dtype(u) == "c64" { y } else { real(y) }, axis)
}
# hilbert(x; axis): the analytic signal x + im H(x) of a real x, where H is the
# Hilbert transform
#     hilbert(cos(2π * iota(8) / 8))[1]   #~ (1 + 1im) / sqrt(2)
hilbert(x; axis = -1) = {
  _want_real("hilbert", x)
  h = _last_axis(x, axis)
  n = shape(h)[-1]
  k = iota(n)
  _last_axis(ifft(fft(h) * where(k == 0 or 2 * k == n, 1.0, where(2 * k < n, 2.0, 0.0))), axis)
}

# ---- windows and spectra

# hann(n; periodic), hamming(n; periodic), blackman(n; periodic), bartlett(n;
# periodic): windows of n samples: symmetric, or with period n for spectra
#     hann(5)                     #~ [0, 0.5, 1, 0.5, 0]
hann(n; periodic = false) = 0.5 - 0.5 * cos(_window_angle(n, periodic))
# hamming(n; periodic): see hann
#     hamming(3)                  #~ [0.08, 1, 0.08]
hamming(n; periodic = false) = 0.54 - 0.46 * cos(_window_angle(n, periodic))
# blackman(n; periodic): see hann
#     blackman(5)[2]              #~ 1
blackman(n; periodic = false) =
  0.42 - 0.5 * cos(_window_angle(n, periodic)) + 0.08 * cos(2 * _window_angle(n, periodic))
# bartlett(n; periodic): see hann; a triangular window
#     bartlett(5)                 #~ [0, 0.5, 1, 0.5, 0]
bartlett(n; periodic = false) = 1 - abs(_window_angle(n, periodic) / π - 1)
# kaiser(n, beta; periodic): the Kaiser window
#     kaiser(5, 0)                #~ [1, 1, 1, 1, 1]
kaiser(n, beta; periodic = false) =
  besseli(0, beta * sqrt(max(1 - (_window_angle(n, periodic) / π - 1)^2, 0.0))) / besseli(0, beta)
# A single sample is the middle of the window.
_window_angle(n, periodic) =
  if n == 1 { 0.0 * iota(n) + π } else { 2 * π * iota(n) / (if periodic { n } else { n - 1 }) }
# periodogram(x; rate, window): (frequency, power): one-sided power spectral
# density of a real signal with `rate` samples per unit. The mean is subtracted.
#   window: n factors, or none. The sum of power times the frequency step is the
#   mean square of the signal.
#     p = periodogram(sin(2π * 0.25 * iota(64)))
#     p.frequency[argmax(p.power)]   #~ 0.25
periodogram(x; rate = 1.0, window = none) = {
  n = len(x)
  w = if kind(window) == "none" { ones(n) } else { window }
  _power((x - mean(x)) * w, sum(w^2), n, rate)
}
_power(x, weight, n, rate) = {
  k = iota(n // 2 + 1)
  (frequency = rfftfreq(n; d = 1 / rate),
    power = where(k == 0 or 2 * k == n, 1.0, 2.0) * abs(rfft(x))^2 / (rate * weight))
}
# welch(x; rate, segment, overlap): (frequency, power): Welch's method: the mean
# of the periodograms of segments with a Hann window, each without its mean.
#   overlap: number of samples that neighbouring segments share, by default half
#   a segment. [Welch, IEEE Trans. Audio Electroacoust. 15, 1967]
#     p = welch(sin(2π * 0.25 * iota(512)); segment = 64)
#     p.frequency[argmax(p.power)]   #~ 0.25
welch(x; rate = 1.0, segment = 256, overlap = none) = {
  n = min(segment, len(x))
  step = n - (if kind(overlap) == "none" { n // 2 } else { overlap })
  assert(step > 0, "welch: segments must overlap by less than their length")
  starts = step * iota((len(x) - n) // step + 1)
  parts = x[expand(starts, 1) + expand(iota(n), 0)]
  w = hann(n; periodic = true)
  p = _power((parts - expand(mean(parts; axis = 1), 1)) * w, sum(w^2), n, rate)
  (frequency = p.frequency, power = mean(p.power; axis = 0))
}
