# Energies of an anharmonic oscillator and their derivatives, with JAX.
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)
x = jnp.linspace(-6.0, 6.0, 241)
h = x[1] - x[0]
n = len(x)
kinetic = (2 * jnp.eye(n) - jnp.eye(n, k=1) - jnp.eye(n, k=-1)) / (2 * h**2)
# forward mode, because two reverse passes through eigh give NaN
slope = lambda f: lambda g: jax.jvp(f, (g,), (1.0,))[1]
levels = lambda g: jnp.linalg.eigh(kinetic + jnp.diag(0.5 * x**2 + g * x**4))[0][:4]

print(f"without g: {levels(0.0)}")
assert jnp.max(abs(levels(0.0) - jnp.array([0.5, 1.5, 2.5, 3.5]))) < 5e-3

E1 = slope(levels)(0.0)
print(f"dE/dg: {E1}")
assert jnp.max(abs(E1 / jnp.array([0.75, 3.75, 9.75, 18.75]) - 1)) < 0.02
E2 = slope(slope(levels))(0.0)[0] / 2
print(f"second order of the ground state {E2:.3f}, theory -2.625")
assert abs(E2 + 2.625) < 0.03

psi = jnp.linalg.eigh(kinetic + jnp.diag(0.5 * x**2 + 0.1 * x**4))[1] / jnp.sqrt(h)
for k in range(3):
    plt.plot(x, psi[:, k], label=f"n = {k}")
plt.legend()
plt.title("x^2/2 + 0.1 x^4")
plt.xlabel("x")
plt.ylabel("ψ")
plt.savefig("oscillator.png")
