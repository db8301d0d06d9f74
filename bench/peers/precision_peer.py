"""precision_peer.py - work and precision of SciPy's and diffrax's integrators.

Use: precision_peer.py scipy|diffrax [--only WORD] [--budget SECONDS]

Contract:
- The problems are those of bench/work_precision/run.c. Each problem, method and
  tolerance prints one line of JSON.
- atol is rtol times the factor in references.txt. The error is the maximum of
  |y - r| / (|r| + atol / rtol).
- Time is processor time, the minimum of many calls within the budget, without
  compilation. For diffrax it is that of the jitted function in double
  precision.
- Jacobians for SciPy are written by hand, banded where the method accepts that.
  diffrax derives them.
- A tolerance that takes longer than MOST seconds is the last of its method. One
  that does not return is abandoned.
"""
import json
import os
import signal
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MOST, GIVEN_UP = 0.4, 20
CELLS, BETWEEN = 500, 0.02 * 501**2


def references():
    out = {}
    with open(os.path.join(HERE, "..", "work_precision", "references.txt")) as file:
        for line in file:
            if line[0] != "#":
                name, floor, *end = line.split()
                out[name] = (float(floor), np.array([float(x) for x in end]))
    return out


def robertson(np, t, y):
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
    return np.stack([b - a, a - b - c, c])


def robertson_jac(t, y):
    return np.array([[-0.04, 1e4 * y[2], 1e4 * y[1]], [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
                     [0, 6e7 * y[1], 0]])


def hires(np, t, y):
    v = 280 * y[5] * y[7]
    decay = v - 1.81 * y[6]
    return np.stack([-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
                     -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
                     8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
                     -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
                     -v + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6], decay, -decay])


def hires_jac(t, y):
    p, q = 280 * y[5], 280 * y[7]
    return np.array([[-1.71, 0.43, 8.32, 0, 0, 0, 0, 0], [1.71, -8.75, 0, 0, 0, 0, 0, 0],
                     [0, 0, -10.03, 0.43, 0.035, 0, 0, 0],
                     [0, 8.32, 1.71, -1.12, 0, 0, 0, 0], [0, 0, 0, 0, -1.745, 0.43, 0.43, 0],
                     [0, 0, 0, 0.69, 1.71, -q - 0.43, 0.69, -p],
                     [0, 0, 0, 0, 0, q, -1.81, p], [0, 0, 0, 0, 0, -q, 1.81, -p]])


# The reactions of Verwer's air pollution problem: rate, reactants, and the
# change of each species.
REACTIONS = [(0.35, [0], {0: -1, 1: 1, 2: 1}), (26.6, [1, 3], {0: 1, 1: -1, 3: -1}),
             (12300, [4, 1], {0: 1, 1: -1, 4: -1, 5: 1}), (8.6e-4, [6], {4: 2, 6: -1, 7: 1}),
             (8.2e-4, [6], {6: -1, 7: 1}), (15000, [6, 5], {4: 1, 5: -1, 6: -1, 7: 1}),
             (1.3e-4, [8], {4: 1, 7: 1, 8: -1, 9: 1}), (24000, [8, 5], {5: -1, 8: -1, 10: 1}),
             (16500, [10, 1], {0: 1, 1: -1, 9: 1, 10: -1, 11: 1}),
             (9000, [10, 0], {0: -1, 10: -1, 12: 1}), (0.022, [12], {0: 1, 10: 1, 12: -1}),
             (12000, [9, 1], {0: 1, 1: -1, 9: -1, 13: 1}), (1.88, [13], {4: 1, 6: 1, 13: -1}),
             (16300, [0, 5], {0: -1, 5: -1, 14: 1}), (4.8e6, [2], {2: -1, 3: 1}),
             (3.5e-4, [3], {3: -1, 15: 1}), (0.0175, [3], {2: 1, 3: -1}),
             (1e8, [15], {5: 2, 15: -1}), (4.44e11, [15], {2: 1, 15: -1}),
             (1240, [16, 5], {4: 1, 5: -1, 16: -1, 17: 1}), (2.1, [18], {1: 1, 18: -1}),
             (5.78, [18], {0: 1, 2: 1, 18: -1}), (0.0474, [0, 3], {0: -1, 3: -1, 18: 1}),
             (1780, [18, 0], {0: -1, 18: -1, 19: 1}), (3.12, [19], {0: 1, 18: 1, 19: -1})]
RATE = np.array([k for k, _, _ in REACTIONS])
FIRST = np.array([w[0] for _, w, _ in REACTIONS])
SECOND = np.array([w[1] if len(w) > 1 else 20 for _, w, _ in REACTIONS])  # 20: nothing
GAIN = np.zeros((20, 25))
for column, (_, _, gains) in enumerate(REACTIONS):
    for row, amount in gains.items():
        GAIN[row, column] = amount


def pollution(np, t, y):
    z = np.concatenate([y, np.ones(1)])
    return GAIN @ (RATE * z[FIRST] * z[SECOND])


def pollution_jac(t, y):
    z = np.append(y, 1.0)
    by = np.zeros((25, 21))
    by[range(25), FIRST] += RATE * z[SECOND]
    by[range(25), SECOND] += RATE * z[FIRST]
    return GAIN @ by[:, :20]


MASS = np.arange(1.0, 8)


def pleiades(np, t, z):
    x, y = z[:7], z[7:14]
    dx, dy = x[None, :] - x[:, None], y[None, :] - y[:, None]
    q = dx * dx + dy * dy + np.eye(7)
    pull = MASS[None, :] / (q * np.sqrt(q))
    return np.concatenate([z[14:], (pull * dx).sum(1), (pull * dy).sum(1)])


def lorenz(np, t, u):
    return np.stack([10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]])


def brusselator(np, t, y):
    w = y.reshape(CELLS, 2)
    ends = np.array([[1.0, 3.0]])
    spread = BETWEEN * (np.concatenate([ends, w[:-1]]) - 2 * w + np.concatenate([w[1:], ends]))
    u, v = w[:, 0], w[:, 1]
    r = u * u * v
    return (spread + np.stack([1 + r - 4 * u, 3 * u - r], axis=1)).reshape(-1)


def brusselator_band(t, y):  # for LSODA: rows are diagonals from the second above
    u, v = y[0::2], y[1::2]
    band = np.zeros((5, 2 * CELLS))
    band[0, 2:] = band[4, :-2] = BETWEEN
    band[1, 1::2] = u * u
    band[2, 0::2] = 2 * u * v - 4 - 2 * BETWEEN
    band[2, 1::2] = -u * u - 2 * BETWEEN
    band[3, 0::2] = 3 - 2 * u * v
    return band


def brusselator_jac(t, y):
    import scipy.sparse
    b = brusselator_band(t, y)
    return scipy.sparse.dia_matrix((b, [2, 1, 0, -1, -2]), shape=(2 * CELLS, 2 * CELLS)).tocsc()


def start(name):
    y = np.zeros({"robertson": 3, "hires": 8, "pollution": 20, "lorenz": 3}.get(name, 0))
    if name in ("robertson", "lorenz", "hires"):
        y[0] = 1
    if name == "hires":
        y[7] = 0.0057
    if name == "pollution":
        y[[1, 3, 6, 7, 8, 16]] = [0.2, 0.04, 0.1, 0.3, 0.01, 0.007]
    if name == "pleiades":
        y = np.array([3, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4, 0, 0, 0, 0, 0, 1.75, -1.5, 0,
                      0, 0, -1.25, 1, 0, 0], float)
    if name == "brusselator":
        y = np.stack([1 + 0.5 * np.sin(2 * np.pi * np.arange(1, CELLS + 1) / (CELLS + 1)),
                      3 * np.ones(CELLS)], axis=1).reshape(-1)
    return y


# Right-hand side, end, Jacobian for SciPy, methods of SciPy, solvers of
# diffrax, and the unknowns that have references.
PROBLEMS = {
    "robertson": (robertson, 1e5, robertson_jac, ["LSODA", "Radau"], ["Kvaerno5"], 1),
    "hires": (hires, 321.8122, hires_jac, ["LSODA", "Radau"], ["Kvaerno5"], 1),
    "pollution": (pollution, 60.0, pollution_jac, ["LSODA", "Radau"], ["Kvaerno5"], 1),
    "pleiades": (pleiades, 3.0, None, ["DOP853", "LSODA"], ["Tsit5", "Dopri8"], 1),
    "lorenz": (lorenz, 10.0, None, ["DOP853", "LSODA"], ["Tsit5", "Dopri8"], 1),
    "brusselator": (brusselator, 10.0, brusselator_jac, ["LSODA", "BDF"], ["Kvaerno5"], 7),
}


def by_scipy(name, method):
    from scipy.integrate import solve_ivp
    f, end, jac = PROBLEMS[name][:3]
    y0, more = start(name), {}
    if jac is not None and method in ("LSODA", "BDF", "Radau"):
        more = {"jac": jac}
        if name == "brusselator" and method == "LSODA":
            more = {"jac": brusselator_band, "lband": 2, "uband": 2}

    def run(rtol, atol):
        r = solve_ivp(lambda t, y: f(np, t, y), (0, end), y0, method=method, rtol=rtol, atol=atol,
                      t_eval=[end], **more)
        return r.y[:, -1] if r.success else None
    return run


def by_diffrax(name, method):
    import diffrax
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    f, end = PROBLEMS[name][:2]
    y0 = jnp.array(start(name))
    solver = getattr(diffrax, method)()
    term = diffrax.ODETerm(lambda t, y, args: f(jnp, t, y))

    @jax.jit
    def solve(rtol, atol):
        control = diffrax.PIDController(rtol=rtol, atol=atol)
        r = diffrax.diffeqsolve(term, solver, 0.0, end, None, y0, stepsize_controller=control,
                                saveat=diffrax.SaveAt(t1=True), max_steps=None, throw=False)
        return r.ys[0], r.result == diffrax.RESULTS.successful

    def run(rtol, atol):
        y, good = solve(rtol, atol)
        return np.asarray(y) if good else None
    return run


class GivenUp(Exception):
    pass


def give_up(signum, frame):
    raise GivenUp


def limited(run, *args):
    signal.alarm(GIVEN_UP)
    try:
        return run(*args)
    except GivenUp:
        return None
    finally:
        signal.alarm(0)


def main():
    signal.signal(signal.SIGALRM, give_up)
    which, only, budget = sys.argv[1], [], 0.3
    rest = sys.argv[2:]
    while rest:
        word, value, *rest = rest
        if word == "--only":
            only.append(value)
        elif word == "--budget":
            budget = float(value)
    ends = references()
    for name, (_, _, _, scipys, diffraxes, every) in PROBLEMS.items():
        for method in scipys if which == "scipy" else diffraxes:
            if only and not any(w in f"{name}_{method}" for w in only):
                continue
            run = by_scipy(name, method) if which == "scipy" else by_diffrax(name, method)
            floor, end = ends[name]
            for k in range(4, 13):
                rtol = 10.0**-k
                best, began, runs = float("inf"), None, 0
                # the first call of diffrax compiles
                y = run(rtol, floor * rtol) if which == "diffrax" and k == 4 else np.zeros(0)
                while y is not None and (runs < 2 or time.monotonic() - began < budget):
                    from_ = time.process_time()
                    began = began or time.monotonic()
                    y = (limited(run, rtol, floor * rtol) if which == "scipy"
                         else run(rtol, floor * rtol))
                    best = min(best, time.process_time() - from_)
                    runs += 1
                    if best > MOST / 4:
                        break
                if y is None:
                    print(f"{which}: {name} by {method} gives up at {rtol}", file=sys.stderr)
                    continue
                error = float(np.max(np.abs(y[::every] - end) / (np.abs(end) + floor)))
                print(json.dumps({
                    "problem": name, "side": {"scipy": "SciPy", "diffrax": "diffrax"}[which],
                    "method": method, "rtol": rtol, "ms": 1e3 * best, "error": error}), flush=True)
                if best > MOST:
                    break


main()
