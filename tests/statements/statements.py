"""statements.py - random well-posed problems with known solutions.

Method: manufactured solutions (Roache 2002). A solution is chosen, and
expressions.py computes the source that it satisfies. Where the conductivity
jumps, the flux is chosen and the solution is its integral, so that the problem
holds across the jump in its weak form.

Contract:
- `draw(seed)` returns Choices, and `build(choices)` their Statement. The same
  seed gives the same problem.
- `simpler(choices)` yields the Choices that are simpler in one ingredient, for
  shrinking a failing problem.
- Reactions, conditions and coefficients have signs that make the problem
  well-posed.
"""

import math
import random
import beam
import sturm
from expressions import Expr, If, Num, Var, call, choose, lift

t, x, y, z = Var("t"), Var("x"), Var("y"), Var("z")


class Choices:
    """A family, an option for each ingredient, and a seed for constants."""

    def __init__(self, family, options, seed):
        self.family, self.options, self.seed = family, dict(options), seed

    def numbers(self, ingredient):
        """The random generator of an ingredient, independent of all others."""
        return random.Random(f"{self.seed} {ingredient} {self.options.get(ingredient)}")

    def key(self):
        return self.family + " " + " ".join(f"{k}={v}" for k, v in self.options.items())


class Statement:
    """A problem: its source lines, its exact solution and its domain."""

    def __init__(self, coords, fields, lines, exact, smooth, values=None):
        self.coords = coords  # [(name, low, high, periodic)]
        self.fields = fields
        self.lines = lines
        self.exact = exact  # one Expr for each field
        self.smooth = smooth
        self.values = values  # the lowest eigenvalues of an eigenproblem

    def text(self):
        places = ", ".join(
            f"{c} in [{lo!r}, {hi!r}]{' periodic' if p else ''}" for c, lo, hi, p in self.coords
        )
        body = [f"domain {places}", "field " + ", ".join(self.fields)]
        body += ["eigen λ"] * (self.values is not None) + self.lines
        return "problem p {\n" + "".join(f"  {line}\n" for line in body) + "}\n"


def number(rng, low, high):
    """A random constant with few digits, for readable problems."""
    return round(rng.uniform(low, high), 2)


# ---- solutions -------------------------------------------------------------


def shape(c, name, at, low, high):
    """A function of one coordinate, of magnitude about 1."""
    rng, option = c.numbers(name), c.options[name]
    s = (at - low) / (high - low) if (low, high) != (0.0, 1.0) else at
    if option == "wave":
        return call("sin", number(rng, 2, 7) * s + number(rng, 0, 1.5)) + number(rng, 0, 1)
    if option == "polynomial":
        return 1 + number(rng, -1, 1) * s + number(rng, -1, 1) * s**2 + number(rng, 0.2, 1) * s**3
    if option == "layer":
        return 0.3 + call("exp", -s / number(rng, 0.08, 0.3))
    if option == "bump":
        return call("exp", -(((s - number(rng, 0.3, 0.7)) / number(rng, 0.1, 0.3)) ** 2)) + 0.2
    if option == "load":
        return 0.5 + load(rng, s)
    if option == "hill":
        return 0.5 + hill(rng, s)
    return call("sin", Num(3.0) * s) + 0.5  # arch


def load(rng, s):
    """Linear except in a short interval, which a grid may miss."""
    begin, width = number(rng, 0.1, 0.7), rng.choice((0.2, 0.01, 0.0005))
    inside = (s - begin) ** 2 / (2 * width)
    return If(s, begin, 0.0, If(s, begin + width, inside, s - (begin + 0.5 * width)))


def hill(rng, s):
    """The same with the smooth load exp(-z²)/(√π width)."""
    place, width = number(rng, 0.2, 0.8), rng.choice((0.1, 0.01, 0.0005))
    z = (s - place) / width
    root = math.sqrt(math.pi)
    return 0.5 * width * (z * call("erf", z) + call("exp", -(z**2)) / root + z)


SHAPES = ("arch", "polynomial", "wave", "layer", "bump")
LOADED = SHAPES + ("load", "hill")


def course(c, name):
    """The factor of the solution that depends on time, for t from 0 to 1."""
    rng, option = c.numbers(name), c.options[name]
    if option == "decay":
        return call("exp", -number(rng, 0.3, 3) * t)
    if option == "swing":
        return 1 + 0.5 * call("sin", number(rng, 1, 6) * t)
    if option == "pulse":
        return 1 + number(rng, 0.3, 1) * pulse(rng, t, 1.0)
    if option == "surge":
        return 1 + number(rng, 0.3, 1) * surge(rng, t, 1.0)
    return 1 + number(rng, 0.2, 1) * t  # growth


def pulse(rng, at, end):
    """A rise from 0 to 1 in less time than the steps around it."""
    begin, width = number(rng, 0.1, 0.85) * end, rng.choice((0.1, 0.01, 0.0005)) * end
    return If(at, begin, 0.0, If(at, begin + width, (at - begin) / width, 1.0))


def surge(rng, at, end):
    """The same with a smooth rate."""
    middle, width = number(rng, 0.1, 0.85) * end, rng.choice((0.1, 0.01, 0.0005)) * end
    return 0.5 + 0.5 * call("erf", (at - middle) / width)


COURSES = ("growth", "decay", "swing")
FIRST_ORDER = COURSES + ("pulse", "surge")  # a wave would need an infinite force


def scale(c):
    return {"one": 1.0, "small": 1e-6, "large": 1e5}[c.options["scale"]]


# ---- coefficients ----------------------------------------------------------
# Each is an Expr that may contain the unknown, Var("u"). In problems of scale
# A, switches are at multiples of A.


def coefficient(c, name, low, high, A=1.0):
    """A positive coefficient."""
    rng, option = c.numbers(name), c.options[name]
    u = Var("u")
    middle = low + (high - low) * number(rng, 0.25, 0.75)
    a, b = number(rng, 0.3, 1), number(rng, 2, 12)
    if rng.random() < 0.5:
        a, b = b, a
    return {
        "one": lambda: Num(1.0),
        "constant": lambda: Num(number(rng, 0.2, 5)),
        "smooth": lambda: 1
        + number(rng, 0.2, 0.8) * call("sin", number(rng, 1, 5) * (x - low) / (high - low)),
        "layers": lambda: If(x, middle, a, b),
        "clock": lambda: If(t, number(rng, 0.2, 0.8), a, b),
        "hill": lambda: 1
        + 10 * b * call("exp", -(((x - middle) / (number(rng, 0.05, 0.2) * (high - low))) ** 2)),
        "later": lambda: 1 + number(rng, 0.2, 0.9) * call("cos", number(rng, 1, 5) * t),
        "bend": lambda: 1 + (u / A) ** 2,
        "switch": lambda: If(u, A * number(rng, 0.3, 1.2), a, b),
    }[option]()


def reaction(c, name, low, high, A=1.0):
    """A reaction that increases with u, so that the solution is unique."""
    rng, option = c.numbers(name), c.options[name]
    u = Var("u")
    k, at = number(rng, 0.3, 5), A * number(rng, 0.2, 1.2)
    return {
        "none": lambda: Num(0.0),
        "linear": lambda: k * u,
        "cubic": lambda: k * A * (u / A) ** 3,
        "growth": lambda: A * (call("exp", u / A) - 1),
        "above": lambda: k * If(u, at, 0.0, u - at),
        "slopes": lambda: If(u, at, k * (u - at), 9 * k * (u - at)),
        "places": lambda: If(x, low + 0.4 * (high - low), 1.0, 20.0) * u,
        "later": lambda: If(t, number(rng, 0.2, 0.8), 0.0, k) * u,
    }[option]()


# ---- conditions ------------------------------------------------------------


def condition(c, name, u_is, at, side, place, A=1.0, span=1.0, k=Num(1.0)):
    """A condition at an end of `at`, with the sign of a heat loss.

    A conductivity k that depends on the unknown multiplies the derivative: only
    a condition on the flux makes the solution unique then.
    """
    rng, option = c.numbers(name), c.options[name]
    u, slope = Var("u"), u_is.by(at.name)
    out = 1.0 if side == "high" else -1.0
    h = number(rng, 0.5, 8) / span
    where_to = A * number(rng, 0.2, 1.0)
    ends = lambda e: lift(e).put(at.name, Num(place))
    if option == "value":
        left, exact = u, u_is
    else:
        loss = {
            "slope": Num(0.0),
            "robin": h * u,
            "cubic": h * A * (u / A) ** 3,
            "above": h * If(u, where_to, 0.0, u - where_to),
            "later": If(t, number(rng, 0.2, 0.8), 0.0, h) * u,
        }[option]
        left = out * k * Var(f"u_{at.name}") + loss
        exact = out * k.put("u", u_is) * slope + loss.put("u", u_is)
    return f"{left.text()} == {ends(exact).text()} at {at.name} = {place!r}"


# ---- fluxes ----------------------------------------------------------------


def through_layers(c, name, flux_of, low, high):
    """A conductivity of two layers, and ∫ flux/k from the integrated flux."""
    rng = c.numbers(name)
    place = round(low + (high - low) * number(rng, 0.2, 0.8), 6)
    a, b = number(rng, 0.3, 1), number(rng, 2, 20)
    if rng.random() < 0.5:
        a, b = b, a
    here = flux_of.put("x", Num(place))
    solution = If(x, place, flux_of / a, here / a + (flux_of - here) / b)
    return If(x, place, a, b), solution


def through_phases(c, name, integral, A):
    """A conductivity k that jumps with u, and the u with the given ∫ k du."""
    rng = c.numbers(name)
    place = round(A * number(rng, 0.4, 0.9), 12)
    a, b = number(rng, 0.3, 1), number(rng, 1.5, 6)
    u = Var("u")
    return If(u, place, a, b), choose(
        integral, a * place, integral / a, place + (integral - a * place) / b
    )


# ---- families --------------------------------------------------------------


def interval(c):
    return {"unit": (0.0, 1.0), "wide": (-2.0, 3.0), "short": (0.0, 0.01)}[c.options["interval"]]


def conduction(c, u_is, low, high, A):
    """k in ∂x(k ∂x(u)), and the solution that belongs to it."""
    option = c.options["k"]
    if option == "layers":
        k, u_is = through_layers(c, "k", u_is, low, high)
    elif option == "switch":
        k, u_is = through_phases(c, "k", u_is, A)
    else:
        k = coefficient(c, "k", low, high, A)
    return k, u_is


def flux_text(c, k, form):
    u_x = Var("u_x")
    if c.options.get("form") == "expanded" and c.options["k"] in ("one", "constant", "smooth"):
        return f"{k.text()}*u_xx + {k.by('x').text()}*u_x"
    return f"∂x({k.text()}*∂x(u))"


def spread(k, u_is):
    """∂x(k ∂x(u)) of the solution."""
    return (k.put("u", u_is) * u_is.by("x")).by("x")


def beside_slopes(c, k):
    """The coefficient of derivatives in conditions."""
    return k if c.options["k"] in ("bend", "switch") else Num(1.0)


def is_smooth(c):
    """Whether the solution is smooth.

    It has a kink where a coefficient jumps, at a pulse and under a load.
    Changes within a hundredth of the domain count as kinks.
    """
    at = c.options.get
    return (
        at("k") not in ("layers", "switch")
        and at("rho") not in ("layers", "switch")
        and at("r") != "places"
        and at("course") not in ("pulse", "surge")
        and at("shape") not in ("load", "hill")
    )


def line(c):
    low, high = interval(c)
    # Values at the ends: with advection, or without an increasing reaction,
    # other conditions may have several solutions.
    if c.options["b"] != "none":
        c = Choices(c.family, {**c.options, "left": "value", "right": "value"}, c.seed)
    elif c.options["r"] in ("none", "above") and c.options["left"] == "above":
        c = Choices(c.family, {**c.options, "left": "value"}, c.seed)
    A, L = scale(c), high - low
    k, u_is = conduction(c, A * shape(c, "shape", x, low, high), low, high, A)
    r = reaction(c, "r", low, high, A) / L**2
    b = {"none": 0.0, "constant": number(c.numbers("b"), -4, 4)}[c.options["b"]] / L
    source = spread(k, u_is) - b * u_is.by("x") - r.put("u", u_is)
    equation = f"{flux_text(c, k, 'form')} == {(b * Var('u_x') + r + source).text()}"
    lines = [
        equation,
        condition(c, "left", u_is, x, "low", low, A, L, beside_slopes(c, k)),
        condition(c, "right", u_is, x, "high", high, A, L, beside_slopes(c, k)),
    ]
    return Statement([("x", low, high, False)], ["u"], lines, [u_is], is_smooth(c))


def heat(c):
    low, high = interval(c)
    A, L = scale(c), high - low
    start = A * shape(c, "shape", x, low, high) * course(c, "course")
    k, u_is = conduction(c, start, low, high, A)
    rho = coefficient(c, "rho", low, high, A)
    r = reaction(c, "r", low, high, A)
    D = L**2 * {"slow": 0.02, "medium": 0.2, "fast": 1.0}[c.options["speed"]]
    source = rho.put("u", u_is) * u_is.by("t") - D * spread(k, u_is) + r.put("u", u_is)
    equation = f"{rho.text()}*u_t == {D!r}*({flux_text(c, k, 'form')}) + {(source - r).text()}"
    lines = [
        equation,
        f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0",
        condition(c, "left", u_is, x, "low", low, A, L, beside_slopes(c, k)),
        condition(c, "right", u_is, x, "high", high, A, L, beside_slopes(c, k)),
    ]
    smooth = is_smooth(c)
    return Statement(
        [("t", 0.0, 1.0, False), ("x", low, high, False)], ["u"], lines, [u_is], smooth
    )


def wave(c):
    low, high = interval(c)
    A, L = scale(c), high - low
    k, u_is = conduction(c, A * shape(c, "shape", x, low, high) * course(c, "course"), low, high, A)
    rho = coefficient(c, "rho", low, high, A)
    r = reaction(c, "r", low, high, A)
    source = rho.put("u", u_is) * u_is.by("t").by("t") - L**2 * spread(k, u_is) + r.put("u", u_is)
    lines = [
        f"{rho.text()}*u_tt == {L**2!r}*({flux_text(c, k, 'form')}) + {(source - r).text()}",
        f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0",
        f"u_t == {u_is.by('t').put('t', Num(0.0)).text()} at t = 0.0",
        condition(c, "left", u_is, x, "low", low, A, L, beside_slopes(c, k)),
        condition(c, "right", u_is, x, "high", high, A, L, beside_slopes(c, k)),
    ]
    return Statement(
        [("t", 0.0, 1.0, False), ("x", low, high, False)],
        ["u"],
        lines,
        [u_is],
        is_smooth(c),
    )


def transport(c):
    """Transport to the right, with a value at the left end."""
    low, high = interval(c)
    A, L = scale(c), high - low
    u, u_is = Var("u"), A * (shape(c, "shape", x, low, high) + 1.5) * course(c, "course")
    rng = c.numbers("flux")
    a = number(rng, 0.3, 2)
    flux = {
        "constant": a * u,
        "smooth": a * (1 + 0.5 * call("sin", 3 * (x - low) / L)) * u,
        "burgers": u**2 / (2 * A),
        "cubic": u**3 / (3 * A**2),
    }[c.options["flux"]]
    flux = 0.4 * L * flux
    f = flux.put("u", u_is)
    r = reaction(c, "r", low, high, A)
    source = u_is.by("t") + f.by("x") + r.put("u", u_is)
    lines = [
        f"u_t + ∂x({flux.text()}) == {(source - r).text()}",
        f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0",
        f"u == {u_is.put('x', Num(low)).text()} at x = {low!r}",
    ]
    return Statement(
        [("t", 0.0, 1.0, False), ("x", low, high, False)],
        ["u"],
        lines,
        [u_is],
        is_smooth(c),
    )


def ring(c):
    """Periodic, with t or without."""
    L = {"unit": 1.0, "wide": 6.0, "short": 0.01}[c.options["interval"]]
    A, rng = scale(c), c.numbers("shape")
    turn = 2 * 3.141592653589793 / L
    u_is = A * (
        call("sin", turn * x + number(rng, 0, 1))
        + 0.3 * call("cos", 2 * turn * x)
        + number(rng, 0, 1)
    )
    k, b = number(c.numbers("k"), 0.01, 0.5) * L**2 / 10, number(c.numbers("b"), -1, 1) * L
    r = reaction(c, "r", 0.0, L, A)
    u_x, u_xx = Var("u_x"), Var("u_xx")
    if c.options["course"] == "none":
        r = r + Var("u")
        source = b * u_is.by("x") - k * u_is.by("x").by("x") + r.put("u", u_is)
        lines = [f"{(b * u_x - k * u_xx + r).text()} == {source.text()}"]
        coords = [("x", 0.0, L, True)]
    else:
        u_is = u_is * course(c, "course")
        source = u_is.by("t") + b * u_is.by("x") - k * u_is.by("x").by("x") + r.put("u", u_is)
        lines = [
            f"u_t + {(b * u_x - k * u_xx + r).text()} == {source.text()}",
            f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0",
        ]
        coords = [("t", 0.0, 1.0, False), ("x", 0.0, L, True)]
    return Statement(coords, ["u"], lines, [u_is], is_smooth(c))


def plane(c):
    """−∇·(k ∇u) + r(u) == f on a square, with t or without."""
    A = scale(c)
    steady = c.options["course"] == "none"
    k, across = (coefficient(c, "k", 0.0, 1.0, A), shape(c, "shape", x, 0.0, 1.0))
    if c.options["k"] == "layers":
        k, across = through_layers(c, "k", across, 0.0, 1.0)
    u_is = A * across * shape(c, "other", y, 0.0, 1.0) * (1 if steady else course(c, "course"))
    r = reaction(c, "r", 0.0, 1.0, A)
    div = (k.put("u", u_is) * u_is.by("x")).by("x") + (k.put("u", u_is) * u_is.by("y")).by("y")
    source = r.put("u", u_is) - div + (0 if steady else u_is.by("t"))
    rest = (source - r).text()
    lines = [f"{'0' if steady else 'u_t'} == ∇·({k.text()}*∇(u)) + {rest}"]
    if not steady:
        lines.append(f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0")
    lines += [
        condition(c, "left", u_is, x, "low", 0.0, A),
        condition(c, "right", u_is, x, "high", 1.0, A, 1.0, beside_slopes(c, k)),
        condition(c, "right", u_is, y, "low", 0.0, A, 1.0, beside_slopes(c, k)),
        condition(c, "left", u_is, y, "high", 1.0, A),
    ]
    coords = [("x", 0.0, 1.0, False), ("y", 0.0, 1.0, False)]
    if not steady:
        coords = [("t", 0.0, 1.0, False)] + coords
    return Statement(coords, ["u"], lines, [u_is], is_smooth(c))


def box(c):
    """−∇·(k ∇u) + r(u) == f in a cube."""
    A = scale(c)
    k, across = (coefficient(c, "k", 0.0, 1.0, A), shape(c, "shape", x, 0.0, 1.0))
    if c.options["k"] == "layers":
        k, across = through_layers(c, "k", across, 0.0, 1.0)
    u_is = A * across * shape(c, "other", y, 0.0, 1.0) * shape(c, "third", z, 0.0, 1.0)
    r = reaction(c, "r", 0.0, 1.0, A)
    of_u = k.put("u", u_is)
    div = sum(((of_u * u_is.by(n)).by(n) for n in "xyz"), Num(0.0))
    lines = [f"0 == ∇·({k.text()}*∇(u)) + {(r.put('u', u_is) - div - r).text()}"]
    for at in (x, y, z):
        for side, place in (("low", 0.0), ("high", 1.0)):
            kind = "right" if (at is z) == (side == "low") else "left"
            lines.append(condition(c, kind, u_is, at, side, place, A, 1.0, beside_slopes(c, k)))
    return Statement(
        [(n, 0.0, 1.0, False) for n in "xyz"], ["u"], lines, [u_is], is_smooth(c)
    )


def bent(c):
    """A loaded beam: ∂x²(k u_xx) + r(u) == f, plus the rate of u with t."""
    low, high = interval(c)
    A, L = scale(c), high - low
    steady = c.options["course"] == "none"
    k = coefficient(c, "k", low, high, A)
    u_is = A * shape(c, "shape", x, low, high) * (1 if steady else course(c, "course"))
    D = L**4 if steady else L**4 * {"slow": 2e-4, "fast": 0.02}[c.options["speed"]]
    r = reaction(c, "r", low, high, A)
    force = D * (k * u_is.by("x").by("x")).by("x").by("x") + r.put("u", u_is)
    force = force if steady else force + u_is.by("t")
    rate = "" if steady else "u_t + "
    lines = [f"{rate}{D!r}*∂x(∂x({k.text()}*u_xx)) + {r.text()} == {force.text()}"]
    if not steady:
        lines.append(f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0")
    for name, place in (("left", low), ("right", high)):
        told = {"clamped": ("u", "u_x"), "hinged": ("u", "u_xx"), "free": ("u_xx", "u_xxx")}
        for jet in told[c.options[name]]:
            e = u_is
            for _ in range(jet.count("x")):
                e = e.by("x")
            lines.append(f"{jet} == {lift(e).put('x', Num(place)).text()} at x = {place!r}")
    coords = [("x", low, high, False)]
    if not steady:
        coords = [("t", 0.0, 1.0, False)] + coords
    return Statement(coords, ["u"], lines, [u_is], is_smooth(c))


def radius(c):
    """A disk or a ball in its radius, in three spellings."""
    steady = c.options["course"] == "none"
    # If nothing depends on u below a threshold and u stays there, u is
    # determined up to a constant only.
    if steady and c.options["r"] in ("none", "above") and c.options["right"] == "above":
        c = Choices(c.family, {**c.options, "right": "value"}, c.seed)
    A, m = scale(c), {"disk": 1, "ball": 2}[c.options["body"]]
    rng = c.numbers("shape")
    at = Var("r")
    a, b = number(rng, 0.5, 3), number(rng, -1, 1)
    T = A * (1 if steady else course(c, "course"))
    e = call("exp", -a * at**2)
    u_is = T * (e + b * at**2)
    # u_r/r, which has no pole because u is a function of r^2
    over = T * (-2 * a * e + 2 * b)
    q = reaction(c, "r", 0.0, 1.0, A).put("x", at)
    lap = u_is.by("r").by("r") + m * over
    source = q.put("u", u_is) - lap + (0 if steady else u_is.by("t"))
    rest = (source - q).text()
    u_t = "0" if steady else "u_t"
    lines = {
        "divided": [f"{u_t} == 1/r^{m}*∂r(r^{m}*∂r(u)) + {rest}"],
        "expanded": [f"{u_t} == u_rr + {m}*u_r/r + {rest}"],
        "times": [f"r*{u_t} == r*u_rr + {m}*u_r + r*({rest})"],
    }[c.options["form"]]
    if not steady:
        lines.append(f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0")
    lines += ["u_r == 0 at r = 0.0", condition(c, "right", u_is, at, "high", 1.0, A)]
    coords = ([] if steady else [("t", 0.0, 1.0, False)]) + [("r", 0.0, 1.0, False)]
    return Statement(coords, ["u"], lines, [u_is], is_smooth(c))


def pair(c):
    """Two fields that react with each other."""
    low, high = interval(c)
    A, L = scale(c), high - low
    steady = c.options["course"] == "none"
    T = 1 if steady else course(c, "course")
    u_is = A * shape(c, "shape", x, low, high) * T
    v_is = A * shape(c, "other", x, low, high) * T
    rng = c.numbers("k")
    ku, kv = number(rng, 0.05, 1) * L**2, number(rng, 0.05, 1) * L**2
    u, v = Var("u"), Var("v")
    # The gain of one is the loss of the other. At steady state u*v^2 has
    # several solutions.
    g = {
        "linear": number(rng, 0.5, 3) * (u - v),
        "cubic": u - v + (u - v) ** 3 / A**2 if steady else u * v**2 / A**2 + u,
        "above": 2 * If(u, v, 0.0, u - v),
    }[c.options["r"]]
    g_is = g.put("u", u_is).put("v", v_is)
    su = g_is - ku * u_is.by("x").by("x") + (0 if steady else u_is.by("t"))
    sv = -g_is - kv * v_is.by("x").by("x") + (0 if steady else v_is.by("t"))
    lines = [
        f"{'0' if steady else 'u_t'} == {ku!r}*u_xx + {(su - g).text()}",
        f"{'0' if steady else 'v_t'} == {kv!r}*v_xx + {(sv + g).text()}",
    ]
    if not steady:
        lines += [
            f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0",
            f"v == {v_is.put('t', Num(0.0)).text()} at t = 0.0",
        ]
    for name, e in (("u", u_is), ("v", v_is)):
        for place in (low, high):
            lines.append(f"{name} == {e.put('x', Num(place)).text()} at x = {place!r}")
    coords = ([] if steady else [("t", 0.0, 1.0, False)]) + [("x", low, high, False)]
    smooth = c.options["r"] != "above" and c.options["course"] not in ("pulse", "surge")
    return Statement(coords, ["u", "v"], lines, [u_is, v_is], smooth)


def clock(c):
    """Ordinary equations: one, or two with different time scales."""
    A, rng = scale(c), c.numbers("shape")
    u, v = Var("u"), Var("v")
    T = {"short": 1.0, "unit": 5.0, "wide": 100.0}[c.options["interval"]]
    s = t / T
    u_is = A * (call("sin", number(rng, 2, 9) * s) + 1.2)
    if c.options["course"] == "pulse":
        u_is = u_is + A * pulse(c.numbers("course"), t, T)
    if c.options["course"] == "surge":
        u_is = u_is + A * surge(c.numbers("course"), t, T)
    stiff = {"one": 1.0, "constant": 50.0, "smooth": 2000.0}[c.options["k"]] / T
    r = reaction(c, "r", 0.0, 1.0, A).put("x", Num(1.0)) * stiff
    source = u_is.by("t") + r.put("u", u_is)
    lines = [f"u_t == {(source - r).text()}"]
    fields, exact = ["u"], [u_is]
    if c.options["other"] == "second":
        v_is = A * (call("exp", -number(rng, 1, 3) * s) + 0.3)
        swap = (u - v) / T
        exact_swap = swap.put("u", u_is).put("v", v_is)
        lines = [
            f"u_t == {(source - r + exact_swap - swap).text()}",
            f"v_t == {(v_is.by('t') - exact_swap + swap - (v - v_is) * 3 / T).text()}",
            f"v == {v_is.put('t', Num(0.0)).text()} at t = 0.0",
        ]
        fields, exact = ["u", "v"], [u_is, v_is]
    lines.append(f"u == {u_is.put('t', Num(0.0)).text()} at t = 0.0")
    return Statement([("t", 0.0, T, False)], fields, lines, exact, is_smooth(c))


def modes(c):
    """The lowest modes of a string or a rod."""
    low, high = interval(c)
    L = high - low
    k, rho = coefficient(c, "k", low, high), coefficient(c, "rho", low, high)
    q = Num(0.0) if c.options["r"] == "none" else coefficient(c, "r", low, high) / L**2
    equation = f"-({flux_text(c, k, 'form')}) + {(q * Var('u')).text()} == λ*{rho.text()}*u"
    lines, losses = [equation], []
    for name, place, out in (("left", low, -1.0), ("right", high, 1.0)):
        losses.append(
            {"value": None, "slope": 0.0, "robin": number(c.numbers(name), 0.5, 8) / L}[
                c.options[name]
            ]
        )
        ends = k.put("x", Num(place)).at({})
        left = Var("u") if losses[-1] is None else out * ends * Var("u_x") + losses[-1] * Var("u")
        lines.append(f"{left.text()} == 0 at x = {place!r}")
    lines.append(f"{'u_x' if losses[0] is None else 'u'} == 1 at x = {low!r}")
    places = sorted({e.b.value for e in (k, rho, *layers_of(q)) if isinstance(e, If)})
    of = lambda e: lambda x: e.at({"x": x})
    values = sturm.eigenvalues(of(k), of(q), of(rho), low, high, places, *losses, 10)
    layered = any(c.options[o] == "layers" for o in ("k", "rho", "r"))
    return Statement([("x", low, high, False)], ["u"], lines, [Num(0.0)], not layered, values)


def beams(c):
    """The lowest modes of a beam, with tension and foundation or tapered."""
    low, high = interval(c)
    L, d = high - low, number(c.numbers("form"), 0.2, 4.0)
    ends = [c.options["left"], c.options["right"]]
    rng = c.numbers("tension")
    # 0 must not be a double eigenvalue
    has_ground = c.options["ground"] != "none" or ends == ["free", "free"]
    ground = rng.uniform(0.5, 400) if has_ground else 0.0
    if c.options["form"] == "tapered":
        # the height is proportional to the distance from an outside point
        off = round(L * rng.uniform(0.4, 2.0), 3) - low
        at, ground = Var("x") + off, round(d * (off + 0.5 * (low + high)) ** 4 * ground / L**4, 6)
        lines = [f"∂x(∂x({d!r}*({at.text()})^4*u_xx)) + {ground!r}*u == λ*u"]
        force = lambda z: f"{z + off!r}*u_xxx + 4*u_xx"
        values = [ground + v for v in beam.tapered(d, low + off, high + off, *ends, 10)]
    else:
        tension = (0.0 if c.options["tension"] == "none"
                   else round(d * rng.uniform(0.5, 40) / L**2, 2))
        ground = round(d * ground / L**4, 2)
        lines = [f"{d!r}*u_xxxx - {tension!r}*u_xx + {ground!r}*u == λ*u"]
        force = lambda z: f"{d!r}*u_xxx - {tension!r}*u_x"
        values = beam.uniform(d, tension, ground, L, *ends, 10)
    for place, kind in zip((low, high), ends):
        both = {
            "clamped": ("u", "u_x"),
            "hinged": ("u", "u_xx"),
            "free": ("u_xx", force(place)),
            "sliding": ("u_x", force(place)),
        }[kind]
        lines += [f"{left} == 0 at x = {place!r}" for left in both]
    size = {"clamped": "u_xx", "hinged": "u_x"}.get(ends[0], "u")
    lines.append(f"{size} == 1 at x = {low!r}")
    return Statement([("x", low, high, False)], ["u"], lines, [Num(0.0)], True, values)


def drum(c):
    """The lowest modes of a rectangle.

    They are products, and their eigenvalues are sums of those of both sides.
    """
    low, high = interval(c)
    k, h = coefficient(c, "k", low, high), coefficient(c, "other", low, high)
    ends = [None if c.options[n] == "value" else 0.0 for n in ("left", "right")]
    along, across = [
        sturm.eigenvalues(
            lambda z: e.at({"x": z}), lambda z: 0.0, lambda z: 1.0, low, high, [], *sides, 10
        )
        for e, sides in ((k, ends), (h, (None, None)))
    ]
    values = sorted(a + b for a in along for b in across)[:10]
    slope = ["u", "u_x"]
    lines = [
        f"-∂x({k.text()}*∂x(u)) - ∂y({h.put('x', y).text()}*∂y(u)) == λ*u",
        f"{slope[ends[0] is not None]} == 0 at x = {low!r}",
        f"{slope[ends[1] is not None]} == 0 at x = {high!r}",
        f"u == 0 at y = {low!r}, y = {high!r}",
    ]
    sides = [(n, low, high, False) for n in ("x", "y")]
    return Statement(sides, ["u"], lines, [Num(0.0)], True, values)


def layers_of(e):
    """The If in a coefficient that may be divided by a length."""
    return [e] if isinstance(e, If) else [e.a] if isinstance(getattr(e, "a", None), If) else []


# Options of each ingredient, the simplest first; the weight of each family.
SCALES = ("one", "one", "one", "small", "large")
ENDS = ("clamped", "hinged", "free", "sliding")
INTERVALS = ("unit", "unit", "wide", "short")
CONDITIONS = ("value", "slope", "robin", "cubic", "above")
REACTIONS = ("none", "linear", "cubic", "growth", "above", "slopes", "places")
def loop(c):
    """Two periodic fields with a term that is linear in one equation only."""
    L = {"unit": 1.0, "wide": 6.0, "short": 0.01}[c.options["interval"]]
    A, rng = scale(c), c.numbers("shape")
    turn, T = 2 * 3.141592653589793 / L, course(c, "course")
    u_is = A * call("sin", turn * x + number(rng, 0, 6)) * T
    v_is = A * (call("cos", turn * x + number(rng, 0, 6)) + 0.3 * call("sin", 2 * turn * x)) * T
    b, rng = number(c.numbers("b"), 0.3, 2) * L, c.numbers("flux")
    q, k = 0.3 * b / A, 0.0
    if c.options["k"] != "none":
        k = number(c.numbers("k"), 0.01, 0.1) * L**2
    speed = b if c.options["speed"] == "constant" else b * (1 + 0.5 * call("sin", turn * x))
    # Speeds stay real because the coefficients of the other field's derivatives
    # have one sign.
    carried = {
        "product": lambda u, v, u_x, v_x: q * (v * u_x + u * v_x),
        "square": lambda u, v, u_x, v_x: q * v * v_x,
        "carrier": lambda u, v, u_x, v_x: q * v * u_x,
    }[c.options["flux"]]
    bend = q if c.options["first"] == "bent" else 0.0
    first = lambda u, v, u_x, v_x: speed * v_x + (bend * u * u_x if bend else 0)
    second = lambda u, v, u_x, v_x: b * u_x + carried(u, v, u_x, v_x)
    names = [Var(name) for name in ("u", "v", "u_x", "v_x")]
    values = [u_is, v_is, u_is.by("x"), v_is.by("x")]
    lines = []
    for name, e, rate in (("u", u_is, first), ("v", v_is, second)):
        source = e.by("t") + lift(rate(*values)) - k * e.by("x").by("x")
        spread = "" if k == 0 else f" - {k!r}*{name}_xx"
        lines.append(f"{name}_t + {lift(rate(*names)).text()}{spread} == {source.text()}")
        lines.append(f"{name} == {e.put('t', Num(0.0)).text()} at t = 0.0")
    coords = [("t", 0.0, 1.0, False), ("x", 0.0, L, True)]
    return Statement(coords, ["u", "v"], lines, [u_is, v_is], is_smooth(c))


FAMILIES = {
    "line": (
        line,
        5,
        dict(
            shape=LOADED,
            k=("one", "constant", "smooth", "bend", "layers", "switch"),
            form=("flux", "expanded"),
            b=("none", "constant"),
            r=REACTIONS,
            left=("value", "robin", "above", "cubic"),
            right=CONDITIONS,
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "heat": (
        heat,
        6,
        dict(
            shape=LOADED,
            course=FIRST_ORDER,
            k=("one", "constant", "smooth", "bend", "later", "layers", "switch", "clock"),
            form=("flux", "expanded"),
            rho=("one", "constant", "smooth", "later", "bend", "layers", "clock", "switch"),
            r=REACTIONS + ("later",),
            speed=("medium", "slow", "fast"),
            left=CONDITIONS,
            right=CONDITIONS + ("later",),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "wave": (
        wave,
        2,
        dict(
            shape=SHAPES,
            course=COURSES,
            k=("one", "constant", "smooth", "layers"),
            form=("flux", "expanded"),
            rho=("one", "constant", "smooth", "layers"),
            r=("none", "linear", "cubic"),
            left=("value", "slope"),
            right=("value", "slope"),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "transport": (
        transport,
        2,
        dict(
            shape=SHAPES,
            course=FIRST_ORDER,
            flux=("constant", "smooth", "burgers", "cubic"),
            r=("none", "linear", "above"),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "ring": (
        ring,
        2,
        dict(
            shape=("wave",),
            course=("none",) + FIRST_ORDER,
            k=("constant",),
            b=("constant",),
            r=("none", "linear", "cubic", "growth", "above", "slopes"),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "plane": (
        plane,
        2,
        dict(
            shape=LOADED,
            other=SHAPES[:3],
            course=("none", "none") + FIRST_ORDER,
            k=("one", "constant", "smooth", "bend", "layers"),
            r=("none", "linear", "cubic", "above"),
            left=("value",),
            right=("value", "robin"),
            scale=SCALES,
        ),
    ),
    "radius": (
        radius,
        2,
        dict(
            body=("disk", "ball"),
            shape=("arch",),
            course=("none",) + FIRST_ORDER,
            form=("divided", "expanded", "times"),
            r=("none", "linear", "cubic", "above"),
            right=("value", "robin", "above"),
            scale=SCALES,
        ),
    ),
    "pair": (
        pair,
        2,
        dict(
            shape=SHAPES,
            other=SHAPES,
            course=("none",) + FIRST_ORDER,
            k=("constant",),
            r=("linear", "cubic", "above"),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "loop": (
        loop,
        0,
        dict(
            shape=("wave",),
            course=("growth", "decay", "swing"),
            flux=("product", "square", "carrier"),
            first=("linear", "bent"),
            speed=("constant", "smooth"),
            k=("none", "constant"),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "modes": (
        modes,
        0,
        dict(
            k=("one", "constant", "smooth", "hill", "layers"),
            form=("flux", "expanded"),
            rho=("one", "constant", "smooth", "hill", "layers"),
            r=("none", "constant", "smooth", "hill", "layers"),
            left=("value", "slope", "robin"),
            right=("value", "slope", "robin"),
            interval=INTERVALS,
        ),
    ),
    "box": (
        box,
        0,
        dict(
            shape=SHAPES,
            other=SHAPES[:3],
            third=SHAPES[:3],
            k=("one", "constant", "smooth", "bend", "layers"),
            r=("none", "linear", "cubic", "above"),
            left=("value",),
            right=("value", "robin"),
            scale=SCALES,
        ),
    ),
    "bent": (
        bent,
        0,
        dict(
            shape=SHAPES,
            course=("none", "none") + FIRST_ORDER,
            k=("one", "constant", "smooth"),
            r=("linear", "none", "cubic", "above"),
            speed=("slow", "fast"),
            left=("clamped", "hinged"),
            right=("clamped", "hinged", "free"),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
    "beam": (
        beams,
        0,
        dict(
            form=("uniform", "tapered"),
            tension=("none", "constant"),
            ground=("none", "constant"),
            left=ENDS,
            right=ENDS,
            interval=INTERVALS,
        ),
    ),
    "drum": (
        drum,
        0,
        dict(
            k=("one", "constant", "smooth", "hill"),
            other=("one", "constant", "smooth"),
            left=("value", "slope"),
            right=("value", "slope"),
            interval=INTERVALS,
        ),
    ),
    "clock": (
        clock,
        2,
        dict(
            shape=("wave",),
            r=("linear", "cubic", "growth", "above", "slopes"),
            k=("one", "constant", "smooth"),
            other=("none", "second"),
            course=("none", "pulse", "surge"),
            scale=SCALES,
            interval=INTERVALS,
        ),
    ),
}


def draw(seed):
    rng = random.Random(f"statement {seed}")
    names = [name for name, (_, weight, _) in FAMILIES.items() for _ in range(weight)]
    family = rng.choice(names)
    # These families use fixed seeds, so that the problems of other seeds do not
    # change.
    if seed % 23 == 3:
        family = "loop"
    if seed % 23 == 11:
        family = "modes" if seed % 2 else "drum"
    if seed % 23 == 17:
        family = "bent" if seed % 2 == 0 else "beam"
    if seed % 138 == 64:
        family = "box"
    return Choices(family, {k: rng.choice(v) for k, v in FAMILIES[family][2].items()}, seed)


def build(c):
    return FAMILIES[c.family][0](c)


def simpler(c):
    """Choices with one simpler ingredient, the simplest first."""
    for name, options in FAMILIES[c.family][2].items():
        for option in options:
            if option == c.options[name]:
                break
            yield Choices(c.family, {**c.options, name: option}, c.seed)
