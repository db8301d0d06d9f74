# A soliton, with NumPy and SciPy: a Fourier series in x, and an integrating
# factor for the stiff linear part.
import numpy as np
from scipy.integrate import solve_ivp
import matplotlib.pyplot as plt

c, L, n = 4.0, 30.0, 96
soliton = lambda t, x: 0.5 * c / np.cosh(0.5 * np.sqrt(c) * (x - c * t))**2

x = -15 + L * np.arange(n) / n
q = 2 * np.pi * np.fft.rfftfreq(n, L / n)
factor = lambda t: np.exp(1j * q**3 * t)

def rhs(t, v):
    u = np.fft.irfft(v * factor(t))
    return -3j * q * np.fft.rfft(u**2) / factor(t)

sol = solve_ivp(rhs, (0, 1), np.fft.rfft(soliton(0, x + 2)), method="DOP853", dense_output=True,
                rtol=1e-8, atol=1e-9).sol

def u(t, y):
    v = sol(t) * factor(t) / n * np.where(q == 0, 1, 2)
    return (v @ np.exp(1j * np.outer(q, y + 15))).real

z = np.linspace(-15, 15, 201)
error = np.max(abs(u(1.0, z) - soliton(1.0, z + 2)))
print(f"after t = 1 the soliton has moved by {c} and changed by {error:.1e}")
assert error < 1e-3

y = np.linspace(-15, 15, 193)
mass = lambda t: np.trapezoid(u(t, y), y)
momentum = lambda t: np.trapezoid(u(t, y)**2, y)
print(f"mass {mass(0.0):.6f} -> {mass(1.0):.6f}, "
      f"momentum {momentum(0.0):.6f} -> {momentum(1.0):.6f}")
assert abs(mass(1.0) - mass(0.0)) < 1e-5 and abs(momentum(1.0) - momentum(0.0)) < 1e-4
t = np.linspace(0, 1, 101)
plt.pcolormesh(t, z, np.array([u(s, z) for s in t]).T)
plt.colorbar()
plt.title("a soliton")
plt.xlabel("t")
plt.ylabel("x")
plt.savefig("kdv.png")
