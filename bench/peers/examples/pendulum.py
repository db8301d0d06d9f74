# A pendulum's period, with SciPy. Its derivative is a central difference,
# because the solver has none.
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
import matplotlib.pyplot as plt

def pendulum(t, y):
    return [y[1], -np.sin(y[0])]

def swing(theta0):
    return solve_ivp(pendulum, (0, 10), [theta0, 0], method="DOP853", dense_output=True, rtol=1e-11,
                     atol=1e-13).sol

def period(theta0):
    s = swing(theta0)
    return 4 * brentq(lambda t: s(t)[0], 1.0, 2.5, xtol=1e-14)

def exact(theta0):
    a, b = 1.0, np.cos(theta0 / 2)
    for _ in range(6):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return 2 * np.pi / a

def slope(f, x, h=1e-4):
    return (f(x + h) - f(x - h)) / (2 * h)

for theta0 in [0.1, 1.0, 2.0]:
    print(f"amplitude {theta0:.1f}: period {period(theta0):.8f}, exact {exact(theta0):.8f}, "
          f"slope {slope(period, theta0):.6f}")
    assert (abs(period(theta0) - exact(theta0)) < 1e-7
            and abs(slope(period, theta0) - slope(exact, theta0)) < 1e-5)
t = np.linspace(0, 10, 400)
plt.plot(t, swing(0.5)(t)[0], label="amplitude 0.5")
plt.plot(t, swing(2.0)(t)[0], label="amplitude 2")
plt.legend()
plt.xlabel("t")
plt.ylabel("θ")
plt.savefig("pendulum.png")
