# High derivatives by Taylor expansion, with JAX's experimental jets.
import math
import jax
import jax.numpy as jnp
from jax.experimental.jet import jet
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
f = lambda x: jnp.exp(jnp.sin(x))

def taylor(f, x, n):
    y, d = jet(f, (x,), ([1.0] + [0.0] * (n - 1),))
    return [y] + [d[k] / math.factorial(k + 1) for k in range(n)]

c = taylor(f, 0.3, 10)
print(f"f, f', f''/2, ... at 0.3: {c[:4]}")

s = 0.2
series = sum(c[k] * s**k for k in range(11))
print(f"series {series:.12f}, function {f(0.3 + s):.12f}")
assert abs(series - f(0.3 + s)) < 1e-10

assert abs(2 * c[2] - jax.grad(jax.grad(f))(0.3)) < 1e-14

for n in (1, 3, 5, 7):
    assert abs(taylor(jnp.sin, 0.0, n)[n] * math.factorial(n)
               - (1.0 if n % 4 == 1 else -1.0)) < 1e-12

cost = lambda f: jax.jit(f).lower(0.3).compile().cost_analysis()
ratio = cost(lambda x: taylor(f, x, 10)).get("flops", 0) / max(cost(f).get("flops", 1), 1)
print(f"cost of 11 coefficients: {ratio:.0f} times the function")

def halley(g, x):
    for k in range(6):
        t = taylor(g, x, 2)
        d1, d2 = t[1], 2 * t[2]
        x = x - 2 * t[0] * d1 / (2 * d1**2 - t[0] * d2)
    return x

root = halley(lambda x: x * jnp.exp(x) - 1, 0.5)
print(f"W(1) = {root:.15f}")
assert abs(root - 0.567143290409783873) < 1e-15
z = jnp.linspace(-2, 2, 300)
plt.plot(0.3 + z, f(0.3 + z), label="exp(sin x)")
for n in (2, 5, 10):
    plt.plot(0.3 + z, sum(c[k] * z**k for k in range(n + 1)), label=f"degree {n}")
plt.ylim(0, 4)
plt.legend()
plt.xlabel("x")
plt.ylabel("y")
plt.savefig("taylor.png")
