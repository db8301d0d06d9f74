# Robertson's reaction, with SciPy.
import numpy as np
from scipy.integrate import solve_ivp
import matplotlib.pyplot as plt

def robertson(t, y, k1=0.04, k2=3e7, k3=1e4):
    a, b, c = y
    return [-k1 * a + k3 * b * c, k1 * a - k3 * b * c - k2 * b**2, k2 * b**2]

def jacobian(t, y, k1=0.04, k2=3e7, k3=1e4):
    a, b, c = y
    return [[-k1, k3 * c, k3 * b], [k1, -k3 * c - 2 * k2 * b, -k3 * b], [0, 2 * k2 * b, 0]]

r = solve_ivp(robertson, (0, 1e11), [1, 0, 0], method="Radau", jac=jacobian, dense_output=True,
              rtol=1e-9, atol=1e-18)
s = r.sol
for t in [0.4, 40.0, 4e3, 4e5, 1e11]:
    a, b, c = s(t)
    print(f"t = {t:8.1e}   a = {a:.6e}   b = {b:.6e}   c = {c:.6f}")
print(f"{len(r.t)} steps, {r.njev} Jacobians")

assert abs(s(1e11)[0] / 0.2083340149701255e-7 - 1) < 1e-5
assert abs(s(1e11)[1] / 0.8333360770334713e-13 - 1) < 1e-5
assert abs(sum(s(1e3)) - 1) < 1e-9
tau = np.logspace(-5, 11, 300)
plt.semilogx(tau, (s(tau) * [[1], [1e4], [1]]).T, label=["a", "10⁴ b", "c"])
plt.legend()
plt.xlabel("t")
plt.title("Robertson's reaction")
plt.savefig("robertson.png")
