# An epidemic's rates from noisy counts, with SciPy. The Jacobian is by finite
# differences.
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
import matplotlib.pyplot as plt

rng = np.random.default_rng(4)

def sir(t, y, beta, gamma):
    s, i = y
    return [-beta * s * i, beta * s * i - gamma * i]

days = np.linspace(1.0, 60, 60)

def infected(p):
    return solve_ivp(sir, (0, 60), [0.99, 0.01], method="LSODA", t_eval=days, args=tuple(p),
                     rtol=1e-8, atol=1e-10).y[1]

truth = np.array([0.4, 0.1])
counts = infected(truth) + 0.005 * rng.standard_normal(60)

fit = least_squares(lambda p: (infected(p) - counts) / 0.005, [0.6, 0.2])
sigma = np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
print(f"β = {fit.x[0]:.4f} ± {sigma[0]:.4f}, γ = {fit.x[1]:.4f} ± {sigma[1]:.4f}, "
      f"each case infects {fit.x[0] / fit.x[1]:.2f} others")
assert all(abs(fit.x - truth) < 4 * sigma)
plt.plot(days, infected(fit.x), label="model")
plt.scatter(days, counts, color="tab:red", label="counts")
plt.legend()
plt.xlabel("days")
plt.ylabel("share of infected")
plt.savefig("epidemic.png")
