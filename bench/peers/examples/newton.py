# Newton's method with exact derivatives, with JAX. A loop that is itself
# differentiated must be one of JAX's.
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

jax.config.update("jax_enable_x64", True)

def newton(f, x, tol=1e-14, steps=50):
    def body(k, s):
        x, dx = s
        dx = jnp.where(abs(dx) <= tol * abs(x), 0.0, f(x) / jax.grad(f)(x))
        return x - dx, dx
    return jax.lax.fori_loop(0, steps, body, (x, jnp.inf))[0]

r = newton(lambda x: x**2 - 2, 1.0)
print(f"sqrt(2) = {r:.15g}")
assert abs(r - jnp.sqrt(2)) < 1e-15

def newton_system(F, x, steps=20):
    for k in range(steps):
        x = x - jnp.linalg.solve(jax.jacobian(F)(x), F(x))
    return x

F = lambda p: jnp.array([p[0]**2 + p[1]**2 - 4, p[0] * p[1] - 1])
p = newton_system(F, jnp.array([2.0, 0.5]))
print(f"circle and hyperbola meet at ({p[0]:.6f}, {p[1]:.6f})")
assert jnp.linalg.norm(F(p)) < 1e-14

root = lambda a: newton(lambda x: x**2 - a, 1.0)
slope = lambda a: jax.jvp(root, (a,), (1.0,))[1]
print(f"d sqrt(a)/da at 2 = {slope(2.0):.12g}")
assert abs(slope(2.0) - 0.5 / jnp.sqrt(2)) < 1e-12
theta = jnp.linspace(0, 2 * jnp.pi, 200)
u = jnp.linspace(0.3, 3, 100)
plt.plot(2 * jnp.cos(theta), 2 * jnp.sin(theta), label="x² + y² = 4")
plt.plot(u, 1 / u, label="xy = 1")
plt.scatter([p[0], p[1]], [p[1], p[0]], color="black", label="solutions")
plt.gca().set(aspect=1, ylim=(-2.2, 3.4), xlabel="x", ylabel="y")
plt.legend()
plt.savefig("newton.png")
