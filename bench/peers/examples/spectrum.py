# Two tones under noise, with NumPy.
import numpy as np
import matplotlib.pyplot as plt

rng = np.random.default_rng(2)
rate = 500.0
n = 1000
t = np.arange(n) / rate
clean = np.sin(2 * np.pi * 50 * t) + 0.5 * np.sin(2 * np.pi * 120 * t)
heard = clean + 1.5 * rng.standard_normal(n)

F = np.fft.fft(heard)
power = (abs(F[:n // 2]) / n)**2
f = np.arange(n // 2) * rate / n
tones = np.argsort(-power)[:2]
print(f"tones at {f[tones[0]]:.0f} Hz and {f[tones[1]]:.0f} Hz")
assert list(np.sort(f[tones])) == [50.0, 120.0]

filtered = np.fft.ifft(np.where(abs(F)**2 > max(power) * n**2 / 20, F, 0)).real
error = lambda x: np.sqrt(np.mean((x - clean)**2))
print(f"error {error(heard):.2f} before, {error(filtered):.2f} after")
assert error(filtered) < 0.2 * error(heard)
plt.plot(f, power)
plt.xlabel("frequency / Hz")
plt.ylabel("power")
plt.savefig("spectrum.png")
