"""expressions.py - symbolic expressions in coordinates and unknowns.

As an oracle, they are independent of Atled's own derivatives.

Contract:
- An Expr is immutable.
- `text()` is Atled source, `at(values)` a float, `by(name)` the derivative with
  respect to a variable, and `put(name, new)` a substitution.
- If is differentiated by branches. The derivative is right if both branches
  have equal values at the switch, which callers must ensure.
"""

import math


class Expr:
    def __add__(self, other):
        return add(self, lift(other))

    def __radd__(self, other):
        return add(lift(other), self)

    def __sub__(self, other):
        return add(self, mul(Num(-1.0), lift(other)))

    def __rsub__(self, other):
        return add(lift(other), mul(Num(-1.0), self))

    def __mul__(self, other):
        return mul(self, lift(other))

    def __rmul__(self, other):
        return mul(lift(other), self)

    def __truediv__(self, other):
        return div(self, lift(other))

    def __rtruediv__(self, other):
        return div(lift(other), self)

    def __neg__(self):
        return mul(Num(-1.0), self)

    def __pow__(self, n):
        return power(self, n)


class Num(Expr):
    def __init__(self, value):
        self.value = float(value)

    def text(self):
        # Always a real literal; parenthesised if it has a sign.
        s = repr(self.value)
        return f"({s})" if self.value < 0 else s

    def at(self, values):
        return self.value

    def by(self, name):
        return Num(0.0)

    def put(self, name, new):
        return self


class Var(Expr):
    def __init__(self, name):
        self.name = name

    def text(self):
        return self.name

    def at(self, values):
        return values[self.name]

    def by(self, name):
        return Num(1.0 if name == self.name else 0.0)

    def put(self, name, new):
        return new if name == self.name else self


class Two(Expr):
    """A binary operation: + * /."""

    def __init__(self, op, a, b):
        self.op, self.a, self.b = op, a, b

    def text(self):
        return f"({self.a.text()} {self.op} {self.b.text()})"

    def at(self, values):
        x, y = self.a.at(values), self.b.at(values)
        return x + y if self.op == "+" else x * y if self.op == "*" else x / y

    def by(self, name):
        da, db = self.a.by(name), self.b.by(name)
        if self.op == "+":
            return da + db
        if self.op == "*":
            return da * self.b + self.a * db
        return da / self.b - self.a * db / (self.b * self.b)

    def put(self, name, new):
        a, b = self.a.put(name, new), self.b.put(name, new)
        return {"+": add, "*": mul, "/": div}[self.op](a, b)


class Power(Expr):
    """An integer power."""

    def __init__(self, a, n):
        self.a, self.n = a, n

    def text(self):
        return f"({self.a.text()})^{self.n}"

    def at(self, values):
        return self.a.at(values) ** self.n

    def by(self, name):
        return self.n * power(self.a, self.n - 1) * self.a.by(name)

    def put(self, name, new):
        return power(self.a.put(name, new), self.n)


DERIVATIVES = {
    "sin": lambda a: call("cos", a),
    "cos": lambda a: -call("sin", a),
    "exp": lambda a: call("exp", a),
    "tanh": lambda a: 1 - call("tanh", a) ** 2,
    "sqrt": lambda a: 0.5 / call("sqrt", a),
    "erf": lambda a: 2 / math.sqrt(math.pi) * call("exp", -(a**2)),
}


class Call(Expr):
    def __init__(self, name, a):
        self.name, self.a = name, a

    def text(self):
        return f"{self.name}({self.a.text()})"

    def at(self, values):
        return getattr(math, self.name)(self.a.at(values))

    def by(self, name):
        return DERIVATIVES[self.name](self.a) * self.a.by(name)

    def put(self, name, new):
        return call(self.name, self.a.put(name, new))


class If(Expr):
    """yes where a < b, no elsewhere."""

    def __init__(self, a, b, yes, no):
        self.a, self.b, self.yes, self.no = lift(a), lift(b), lift(yes), lift(no)

    def text(self):
        return (f"(if {self.a.text()} < {self.b.text()} {{ {self.yes.text()} }} "
                f"else {{ {self.no.text()} }})")

    def at(self, values):
        return (self.yes if self.a.at(values) < self.b.at(values) else self.no).at(values)

    def by(self, name):
        return choose(self.a, self.b, self.yes.by(name), self.no.by(name))

    def put(self, name, new):
        return choose(*(e.put(name, new) for e in (self.a, self.b, self.yes, self.no)))


def lift(x):
    return x if isinstance(x, Expr) else Num(x)


def is_number(e, value):
    return isinstance(e, Num) and e.value == value


def add(a, b):
    if isinstance(a, Num) and isinstance(b, Num):
        return Num(a.value + b.value)
    return b if is_number(a, 0) else a if is_number(b, 0) else Two("+", a, b)


def mul(a, b):
    if isinstance(a, Num) and isinstance(b, Num):
        return Num(a.value * b.value)
    if is_number(a, 0) or is_number(b, 0):
        return Num(0.0)
    return b if is_number(a, 1) else a if is_number(b, 1) else Two("*", a, b)


def div(a, b):
    if is_number(a, 0) or is_number(b, 1):
        return a
    return Two("/", a, b)


def power(a, n):
    if n == 0:
        return Num(1.0)
    return a if n == 1 else Num(a.value**n) if isinstance(a, Num) else Power(a, n)


def call(name, a):
    a = lift(a)
    return Num(getattr(math, name)(a.value)) if isinstance(a, Num) else Call(name, a)


def choose(a, b, yes, no):
    yes, no = lift(yes), lift(no)
    same = isinstance(yes, Num) and isinstance(no, Num) and yes.value == no.value
    return yes if same else If(a, b, yes, no)
