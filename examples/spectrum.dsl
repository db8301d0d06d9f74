# Two tones in noise: the Fourier transform finds them, and a filter removes the
# noise.

seed(2)
rate = 500.0
n = 1000
t = iota(n) / rate
clean = sin(2π*50t) + 0.5sin(2π*120t)
heard = clean + 1.5randn(n)

F = fft(heard)
power = (abs(F[..n // 2]) / n)^2
f = iota(n // 2) * rate / n
tones = argsort(power, descending = true)[..2]
print("tones at {f[tones[0]]:.0f} Hz and {f[tones[1]]:.0f} Hz")
assert(same(sort(f[tones]), [50.0, 120.0]))

# Components below a twentieth of the strongest power count as noise.
filtered = real(ifft(where(abs(F)^2 > max(power) * n^2 / 20, F, 0)))
error(x) = sqrt(mean((x - clean)^2))
print("error {error(heard):.2f} before, {error(filtered):.2f} after")
assert(error(filtered) < 0.2 * error(heard))
plot(f, power, file = "spectrum.png", xlabel = "frequency / Hz", ylabel = "power")
