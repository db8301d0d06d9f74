/* test_parser.c - unit tests of the lexer and the parser.
 *
 * Covers trees, constants, spans, whole programs, and texts with random
 * mutations.
 *
 * Needs: help.h.
 * Guarantees: prints each failure with the text that was read, then "N passed,
 * N failed"; the exit status says whether all passed.
 * Usage: an argument is the seed of the random part.
 */
#include "tests/unit/parser/help.h"

#include <inttypes.h>

/* ---- trees --------------------------------------------------------------- */

typedef struct Golden {
	const char *text, *tree;
} Golden;

static const Golden goldens[] = {
	{"1", "1"},
	{"1_000", "1000"},
	{"0xff", "255"},
	{"0o17", "15"},
	{"0b101", "5"},
	{"1.5", "1.5"},
	{".5", "0.5"},
	{"1.", "1.0"},
	{"1e-3", "0.001"},
	{"2E5", "200000.0"},
	{"3im", "3.0im"},
	{"1.5im", "1.5im"},
	{"0..n", "(.. 0 n)"},
	{"0.5..1", "(.. 0.5 1)"},
	{"true", "true"},
	{"false", "false"},
	{"none", "none"},
	{"x", "x"},
	{"x_1", "x_1"},
	{"_private", "_private"},
	{"αβ", "αβ"},
	{"µ", "μ"},
	{"Ω", "Ω"},
	{"∆t", "Δt"},
	{"π", "pi"},
	{"∞", "inf"},
	{"x'", "(prime x 1)"},
	{"f''", "(prime f 2)"},
	{"A'[0]", "(index (prime A 1) 0)"},
	{"\"abc\"", "\"abc\""},
	{"\"a\\n\\t\\\"\\\\\\{\\}\\u{3b1}\"", "\"a\\n\\t\\\"\\\\{}α\""},
	{"\"{x}\"", "(str (x))"},
	{"\"x = {x:.3e}, {y=}, {z=:.2f}.\"",
     "(str \"x = \" (x \".3e\") \", \" (y = \"y\") \", \" (z = \"z\" \".2f\") \".\")"},
	{"\"{f(\"a\", {1})}\"", "(str ((call f \"a\" (block 1))))"},
	{"\"{a, b}\"", "(str ((tuple a b)))"},
	{"\"\"", "\"\""},
	{"\"{r.x[\"k\"]}\"", "(str ((index (. r x) \"k\")))"},
	{"[]", "[]"},
	{"[1, 2, 3]", "[1 2 3]"},
	{"[1, 2; 3, 4]", "[1 2; 3 4]"},
	{"[[1, 2], [3, 4]]", "[[1 2] [3 4]]"},
	{"[1,]", "[1]"},
	{"[e for i, j in 0..n]", "(comp e (for i j in (.. 0 n)))"},
	{"[e for i in a for j in b]", "(comp e (for i in a) (for j in b))"},
	{"[e for i in a, j in b]", "(comp e (for i in a) (for j in b))"},
	{"[x for x in xs if x > 0]", "(comp x (for x in xs) (if (> x 0)))"},
	{"[A[i, j] for i, j]", "(comp (index A i j) (for i j))"},
	{"[a + b for (a, b) in pairs]", "(comp (+ a b) (for (tuple a b) in pairs))"},
	{"(1)", "1"},
	{"(1, 2)", "(tuple 1 2)"},
	{"(1,)", "(tuple 1)"},
	{"()", "(tuple)"},
	{"(...t, 1)", "(tuple (... t) 1)"},
	{"(a = 1, b = 2)", "(record (a = 1) (b = 2))"},
	{"(...r, b = 1)", "(record (... r) (b = 1))"},
	{"(...r)", "(record (... r))"},
	{"(for = 1, in = 2)", "(record (for = 1) (in = 2))"},
	{"-x", "(- x)"},
	{"+x", "(+ x)"},
	{"not x", "(not x)"},
	{"not a == b", "(not (== a b))"},
	{"a and b or c and d", "(or (and a b) (and c d))"},
	{"a < b", "(< a b)"},
	{"a < b <= c != d", "(chain a < b <= c != d)"},
	{"a == b", "(== a b)"},
	{"a ≤ b", "(<= a b)"},
	{"a ≥ b", "(>= a b)"},
	{"a ≠ b", "(!= a b)"},
	{"a + b - c", "(- (+ a b) c)"},
	{"a * b / c // d % e @ f", "(@ (% (// (/ (* a b) c) d) e) f)"},
	{"u · v", "(· u v)"},
	{"u ⋅ v", "(· u v)"},
	{"u × v", "(× u v)"},
	{"a − b", "(- a b)"},
	{"a^b^c", "(^ a (^ b c))"},
	{"-a^b", "(- (^ a b))"},
	{"2^-1", "(^ 2 (- 1))"},
	{"2^-x^2", "(^ 2 (- (^ x 2)))"},
	{"f ∘ g ∘ h", "(∘ (∘ f g) h)"},
	{"(f ∘ g)(x)", "(call (∘ f g) x)"},
	{"x |> f |> g", "(|> (|> x f) g)"},
	{"x |> y -> y + 1", "(|> x (-> (y) (+ y 1)))"},
	{"2x", "(juxt 2 x)"},
	{"2π", "(juxt 2 pi)"},
	{"2(x + 1)", "(juxt 2 (+ x 1))"},
	{"3x^2", "(juxt 3 (^ x 2))"},
	{"100(x - 1)^2", "(juxt 100 (^ (- x 1) 2))"},
	{"1/2x", "(/ 1 (juxt 2 x))"},
	{"-2x", "(- (juxt 2 x))"},
	{"2x'", "(juxt 2 (prime x 1))"},
	{"2f(x)", "(juxt 2 (call f x))"},
	{"2x[1]", "(juxt 2 (index x 1))"},
	{"2.5x", "(juxt 2.5 x)"},
	{"2e3x", "(juxt 2000.0 x)"},
	{"2image", "(juxt 2 image)"},
	{"2e-x", "(- (juxt 2 e) x)"},
	{"2^3x", "(^ 2 (juxt 3 x))"},
	{"2√x", "(juxt 2 (call sqrt x))"},
	{"2∂x(u)", "(juxt 2 (call d u x))"},
	{"0.5(a)(b)", "(juxt 0.5 (call a b))"},
	{"x²", "(^ x 2)"},
	{"x⁻¹", "(^ x -1)"},
	{"x²³", "(^ x 23)"},
	{"-x²", "(- (^ x 2))"},
	{"x[0]²", "(^ (index x 0) 2)"},
	{"f(x)²", "(^ (call f x) 2)"},
	{"2x²", "(juxt 2 (^ x 2))"},
	{"√x", "(call sqrt x)"},
	{"√x²", "(call sqrt (^ x 2))"},
	{"√2x", "(call sqrt (juxt 2 x))"},
	{"√2x^2", "(call sqrt (juxt 2 (^ x 2)))"},
	{"√2√3", "(juxt (call sqrt 2) (call sqrt 3))"},
	{"2√3x", "(juxt 2 (call sqrt (juxt 3 x)))"},
	{"√2 * x", "(* (call sqrt 2) x)"},
	{"√(a + b)", "(call sqrt (+ a b))"},
	{"√√x", "(call sqrt (call sqrt x))"},
	{"√x + 1", "(+ (call sqrt x) 1)"},
	{"map(√, x)", "(call map sqrt x)"},
	{"∂x(u)", "(call d u x)"},
	{"∂x²(u)", "(call d u x 2)"},
	{"∂x(k*∂x(u))", "(call d (* k (call d u x)) x)"},
	{"∂x∂y(u)", "(call d (call d u y) x)"},
	{"∂n(u)", "(call dn u)"},
	{"∂(f, i)", "(call ∂ f i)"},
	{"∂t(u)²", "(^ (call d u t) 2)"},
	{"∇(f)", "(call grad f)"},
	{"∇f(x)", "(call (call grad f) x)"},
	{"∇·v", "(call div v)"},
	{"∇×(v)", "(call curl v)"},
	{"∇²u", "(call lap u)"},
	{"∇²(u)", "(call lap u)"},
	{"v·∇u", "(· v (call grad u))"},
	{"∇·∇u", "(call div (call grad u))"},
	{"∇·∇(u)", "(call div (call grad u))"},
	{"k*∇·∇(u) + 1", "(+ (* k (call div (call grad u))) 1)"},
	{"∂x∇(u)", "(call d (call grad u) x)"},
	{"∇·∂(f, 0)", "(call div (call ∂ f 0))"},
	{"∇·f(x)", "(call (call div f) x)"},
	{"Δ(u)", "(call lap u)"},
	{"Δ = 1", "(= Δ 1)"},
	{"Δt = 0.1", "(= Δt 0.1)"},
	{"f()", "(call f)"},
	{"f(x)", "(call f x)"},
	{"f (x)", "(call f x)"},
	{"f(x, y; k = 1)", "(call f x y (k = 1))"},
	{"f(x, k = 1)", "(call f x (k = 1))"},
	{"f(; k = 1)", "(call f (k = 1))"},
	{"f(...xs, 1)", "(call f (... xs) 1)"},
	{"f(x,)", "(call f x)"},
	{"f(for = (D, v), by = 1)", "(call f (unknowns = (tuple \"D\" \"v\")) (by = 1))"},
	{"f(x)(y)", "(call (call f x) y)"},
	{"sum(e for j)", "(call sum (gen e (for j)))"},
	{"sum(e for i, j)", "(call sum (gen e (for i j)))"},
	{"sum(e for i in a if c)", "(call sum (gen e (for i in a) (if c)))"},
	{"sum(e for i, axis = 0)", "(call sum (gen e (for i)) (axis = 0))"},
	{"sum(e for i; axis = 0)", "(call sum (gen e (for i)) (axis = 0))"},
	{"max(abs(r[i]) for i)", "(call max (gen (call abs (index r i)) (for i)))"},
	{"x[0]", "(index x 0)"},
	{"x [0]", "(index x 0)"},
	{"x[-1]", "(index x (- 1))"},
	{"x[2..5]", "(index x (.. 2 5))"},
	{"x[..]", "(index x (.. _ _))"},
	{"x[1..]", "(index x (.. 1 _))"},
	{"x[..-1]", "(index x (.. _ (- 1)))"},
	{"x[.. by -1]", "(index x (.. _ _ (- 1)))"},
	{"x[1.. by 2]", "(index x (.. 1 _ 2))"},
	{"x[0..10 by 2]", "(index x (.. 0 10 2))"},
	{"x[..., 0]", "(index x ... 0)"},
	{"x[idx, ...]", "(index x idx ...)"},
	{"a.b.c", "(. (. a b) c)"},
	{"a.for", "(. a for)"},
	{"a.b(1)[2].c'", "(prime (. (index (call (. a b) 1) 2) c) 1)"},
	{"0..n by 2", "(.. 0 n 2)"},
	{"a + 1..b * 2", "(.. (+ a 1) (* b 2))"},
	{"r = 0..n", "(= r (.. 0 n))"},
	{"x -> x + 1", "(-> (x) (+ x 1))"},
	{"(x, y) -> x", "(-> (x y) x)"},
	{"() -> 1", "(-> () 1)"},
	{"(x, y; k = 2) -> x", "(-> (x y ; (k = 2)) x)"},
	{"((a, b), c) -> a", "(-> ((tuple a b) c) a)"},
	{"x -> y -> x + y", "(-> (x) (-> (y) (+ x y)))"},
	{"(x: f64[n]) -> x", "(-> ((x : f64[n])) x)"},
	{"x -> { y = x; y }", "(-> (x) (block (= y x); y))"},
	{"if c { a }", "(if c (block a))"},
	{"if c { a } else { b }", "(if c (block a) (block b))"},
	{"if a { 1 } else if b { 2 } else { 3 }", "(if a (block 1) (if b (block 2) (block 3)))"},
	{"x = 1 + if c { 1 } else { 2 }", "(= x (+ 1 (if c (block 1) (block 2))))"},
	{"try { a } catch e { b }", "(try (block a) e (block b))"},
	{"try { a } catch { b }", "(try (block a) _ (block b))"},
	{"{ }", "(block)"},
	{"{ a; b }", "(block a; b)"},
	{"for i in 0..n { x = x + i }", "(for i (.. 0 n) (block (= x (+ x i))))"},
	{"for i, x in xs { }", "(for (tuple i x) xs (block))"},
	{"for (i, (j, k)) ∈ xs { }", "(for (tuple i (tuple j k)) xs (block))"},
	{"while a < b { break; continue }", "(while (< a b) (block (break); (continue)))"},
	{"return", "(return)"},
	{"return x", "(return x)"},
	{"return a, b", "(return (tuple a b))"},
	{"{ return }", "(block (return))"},
	{"x = 1", "(= x 1)"},
	{"x = 1;", "(= x 1);"},
	{"x = 1; y = 2", "(= x 1);\n(= y 2)"},
	{"a, b = b, a", "(= (tuple a b) (tuple b a))"},
	{"(a, b) = f(x)", "(= (tuple a b) (call f x))"},
	{"(a, (b, c)) = f(x)", "(= (tuple a (tuple b c)) (call f x))"},
	{"x[i] = e", "(= (index x i) e)"},
	{"x[i, 0].f = e", "(= (. (index x i 0) f) e)"},
	{"r.f = e", "(= (. r f) e)"},
	{"x, r.f = 1, 2", "(= (tuple x (. r f)) (tuple 1 2))"},
	{"x += 1", "(+= x 1)"},
	{"x -= 1", "(-= x 1)"},
	{"x *= 2", "(*= x 2)"},
	{"x /= 2", "(/= x 2)"},
	{"x //= 2", "(//= x 2)"},
	{"x %= 2", "(%= x 2)"},
	{"x ^= 2", "(^= x 2)"},
	{"A @= B", "(@= A B)"},
	{"x[i] += 1", "(+= (index x i) 1)"},
	{"f(x) = x", "(def f (x) x)"},
	{"f(x, y = 2; k = 1, tol) = x", "(def f (x (y = 2) ; (k = 1) tol) x)"},
	{"f() = 1", "(def f () 1)"},
	{"f(x) = { x }", "(def f (x) (block x))"},
	{"f(p: (W: f64[m, n], b: f64), g: function, x: f64[...], y: i64[_, n + 1], z: [n]) -> f64[m] = "
     "x",
     "(def f ((p : (record (W : f64[m n]) (b : f64))) (g : function) (x : f64[...]) (y : i64[_ (+ "
     "n 1)]) "
     "(z : _[n])) -> f64[m] x)"},
	{"f((a, b)) = a", "(def f ((tuple a b)) a)"},
	{"Δ(x) = x", "(def lap (x) x)"},
	{"f(x) == 3", "(== (call f x) 3)"},
	{"derivative tanh(x) = 1 - y^2", "(derivative tanh (x) (- 1 (^ y 2)))"},
	{"derivative f(x, p), dx, dp = { dx }", "(derivative f (x p) (dx dp) (block dx))"},
	{"derivative = 3", "(= derivative 3)"},
	{"C[i, k] := sum(A[i, j] * B[j, k] for j)",
     "(:= C [i k] (call sum (gen (* (index A i j) (index B j k)) (for j))))"},
	{"L[i] := u[i+1] for i in 1..n-1", "(:= L [i] (index u (+ i 1)) (for i in (.. 1 (- n 1))))"},
	{"T[i, j] := 1 for i in 0..n for j in 0..m",
     "(:= T [i j] 1 (for i in (.. 0 n)) (for j in (.. 0 m)))"},
	{"T[i, j] := 1 for i in 0..n, j in 0..m",
     "(:= T [i j] 1 (for i in (.. 0 n)) (for j in (.. 0 m)))"},
	{"use ode", "(use ode)"},
	{"use nn, optim", "(use nn)\n(use optim)"},
	{"use \"my.dsl\" as my", "(use \"my.dsl\" as my)"},
	{"use ode as o, \"x.dsl\"", "(use ode as o)\n(use \"x.dsl\")"},
	{"use = 1", "(= use 1)"},
	{"at = 1", "(= at 1)"},
	{"by = 2", "(= by 2)"},
	{"x + at", "(+ x at)"},
	{"problem = 3", "(= problem 3)"},
	{"problem p { }", "(problem p ())"},
	{"problem p(a = 1; b: f64) { domain t in [0, 1], x in [-1, 1] periodic, (x, y) in disk(1); "
     "field u, v[2], p; eigen λ }",
     "(problem p ((a = 1) ; (b : f64)) (domain t in 0 1) (domain x in (- 1) 1 periodic) "
     "(domain x y in (call disk 1)) (field u) (field v 2) (field p) (field λ) (eigen λ))"},
	{"problem p { domain x in line(0, 1) periodic; field u; u_t == ∂x²(u) at x = 0, left, (0, 1); "
     "u == 1 at boundary }",
     "(problem p () (domain x in (call line 0 1) periodic) (field u) (== u_t (call d u x 2) (at x "
     "0) "
     "(at left) (at (tuple 0 1))) (== u 1 (at boundary)))"},
	{"problem p { k = 2; f(x) = x^2; k*u == f(u) }",
     "(problem p () (= k 2) (def f (x) (^ x 2)) (== (* k u) (call f u)))"},
	{"problem p { event e: h falling { h = 0; v = -0.9v }; event g: x; event s: x - 1 rising "
     "terminal }",
     "(problem p () (event e h falling (block (= h 0); (= v (- (juxt 0.9 v))))) (event g x) "
     "(event s (- x 1) rising terminal))"},
	{"problem p { field == 1; domain == 2; event(x) == 3; eigen = 2; at == 1 at at = 1 }",
     "(problem p () (= eigen 2) (== field 1) (== domain 2) (== (call event x) 3) (== at 1 (at at "
     "1)))"},

	/* Lines. */
	{"a +\nb", "(+ a b)"},
	{"a\n+ b", "a\n(+ b)"},
	{"a\n* b", "(* a b)"},
	{"a -\n\n  b", "(- a b)"},
	{"x\n|> f\n|> g", "(|> (|> x f) g)"},
	{"x\n.f\n.g(1)", "(call (. (. x f) g) 1)"},
	{"a\nand b", "(and a b)"},
	{"a and\nb", "(and a b)"},
	{"not\na", "(not a)"},
	{"a\n== b", "(== a b)"},
	{"f(a,\n  b)", "(call f a b)"},
	{"f(\n  a\n  , b\n)", "(call f a b)"},
	{"[1, 2;\n 3, 4]", "[1 2; 3 4]"},
	{"[1,\n2\n]", "[1 2]"},
	{"(a\n+ b)", "(+ a b)"},
	{"(a\n(b))", "(call a b)"},
	{"if c { a }\nelse { b }", "(if c (block a) (block b))"},
	{"if c {\n a\n}\nelse if d {\n b\n} else {\n c\n}",
     "(if c (block a) (if d (block b) (block c)))"},
	{"try { a }\ncatch e { b }", "(try (block a) e (block b))"},
	{"a\n(b)", "a\nb"},
	{"a\n[b]", "a\n[b]"},
	{"a\n-b", "a\n(- b)"},
	{"f(x) =\n  x", "(def f (x) x)"},
	{"f(x,\n  y) = x", "(def f (x y) x)"},
	{"x ->\n x", "(-> (x) x)"},
	{"x =\n\n 1", "(= x 1)"},
	{"a,\nb = 1, 2", "(= (tuple a b) (tuple 1 2))"},
	{"m(x -> {\n  a = 1\n  b\n}, 2)", "(call m (-> (x) (block (= a 1) b)) 2)"},
	{"[{\n  a\n  -b\n}, 1]", "[(block a (- b)) 1]"},
	{"x = # comment\n  1", "(= x 1)"},
	{"a # b\nc", "a\nc"},
	{"# only a comment", ""},
	{"\n\n;;\na;;\nb", "a;\nb"},
	{"a\r\nb\r\n", "a\nb"},
	{"a +　b", "(+ a b)"},
	{"\"a\nb\"", "\"a\\nb\""},
	{"\"a\\\nb\"", "\"ab\""},
	{"\"{\n  x\n}\"", "(str (x))"},
	{"problem p {\n  u == 1\n    at x = 0,\n  x = 1\n  at == 2\n}",
     "(problem p () (== u 1 (at x 0) (at x 1)) (== at 2))"},
	{"problem p {\n  u == 1 +\n    2; v == 3\n\n}", "(problem p () (== u (+ 1 2)) (== v 3))"},
	{"for i in\n  xs {\n}", "(for i xs (block))"},
	{"A′", "(prime A 1)"},
	{"use nn,\n  optim", "(use nn)\n(use optim)"},

	/* Look-alike characters, combining marks, other kinds of spaces. */
	{"\xc3\xbb", "\xc3\xbb"},
	{"\xf0\x9d\x91\xa5 + \"\\u{1f600}\"", "(+ \xf0\x9d\x91\xa5 \"\xf0\x9f\x98\x80\")"},
	{"u\xcc\x82", "\xc3\xbb"},
	{"e\xcc\x81\xcc\x81x", "\xc3\xa9\xcc\x81x"},
	{"x\xcc\x82' + \xe2\x84\xab", "(+ (prime x\xcc\x82 1) \xc3\x85)"},
	{"A\xcc\x8a", "\xc3\x85"},
	{"\xe2\x84\xa6 + \xce\xa9", "(+ \xce\xa9 \xce\xa9)"},
	{"\xef\xbb\xbf"
     "a",
     "a"},
	{"a\xc2\xa0+\xe3\x80\x80"
     "b",
     "(+ a b)"},
};

static void test_goldens(void) {
	for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
		const Golden *g = &goldens[i];
		Ctx *c = ctx_new(NULL);
		Reading r = read_text(c, g->text);
		char *printed = print_program(&r);
		bool same = CHECK_MSG(!strcmp(printed, g->tree), "reading: %s", g->text);
		if (!same) printf("  expected: %s\n  got:      %s\n", g->tree, printed);
		CHECK_MSG(r.ok && diags_are_sound(&r), "reading: %s", g->text);
		CHECK_MSG(trees_are_sound(&r), "reading: %s", g->text);
		CHECK_MSG(tokens_cover(g->text, r.n), "reading: %s", g->text);
		CHECK_MSG(!parse_is_incomplete(g->text, r.n), "reading: %s", g->text);
		free(printed);
		ctx_free(c);
	}
}

/* Both sides must read as the same tree, or, if `same` is false, as different
 * trees. */
static const struct {
	const char *plain, *grouped;
	bool same;
} precedences[] = {
	{"x |> f |> g", "(x |> f) |> g", true},
	{"x |> a -> a", "x |> (a -> a)", true},
	{"a -> a |> f", "(a -> a) |> f", true},
	{"a -> b -> c", "a -> (b -> c)", true},
	{"a -> b or c", "a -> (b or c)", true},
	{"a or b and c", "a or (b and c)", true},
	{"a or b or c", "(a or b) or c", true},
	{"a and not b", "a and (not b)", true},
	{"not a and b", "(not a) and b", true},
	{"not a < b", "not (a < b)", true},
	{"not not a", "not (not a)", true},
	{"a < b..c", "a < (b..c)", true},
	{"a == b == c", "(a == b) == c", false},
	{"a + b..c * d by e - f", "(a + b)..(c * d) by (e - f)", true},
	{"a + b - c", "(a + b) - c", true},
	{"a - b * c", "a - (b * c)", true},
	{"a * b / c", "(a * b) / c", true},
	{"a / b // c % d @ e · f × g", "(((((a / b) // c) % d) @ e) · f) × g", true},
	{"-a * b", "(-a) * b", true},
	{"a * -b", "a * (-b)", true},
	{"a - -b", "a - (-b)", true},
	{"-a^b", "-(a^b)", true},
	{"-2x", "-(2x)", true},
	{"+a.b", "+(a.b)", true},
	{"1/2x", "1/(2x)", true},
	{"a/2π*b", "(a/(2π))*b", true},
	{"2x^y", "2(x^y)", true},
	{"2x^y*z", "(2(x^y))*z", true},
	{"2^3x", "2^(3x)", true},
	{"2x'", "2(x')", true},
	{"2f(a)[b].c", "2(f(a)[b].c)", true},
	{"a^b^c", "a^(b^c)", true},
	{"a^-b^c", "a^(-(b^c))", true},
	{"a^-b * c", "(a^(-b)) * c", true},
	{"f ∘ g^n", "(f ∘ g)^n", true},
	{"a^f ∘ g", "a^(f ∘ g)", true},
	{"f ∘ g ∘ h", "(f ∘ g) ∘ h", true},
	{"f ∘ g(x)", "f ∘ (g(x))", true},
	{"a.b(c)", "(a.b)(c)", true},
	{"f'(x)", "(f')(x)", true},
	{"-x²", "-(x²)", true},
	{"a^x²", "a^(x²)", true},
	{"√x^y", "√(x^y)", true},
	{"√x * y", "(√x) * y", true},
	{"√2x", "√(2x)", true},
	{"a/√2π", "a/(√(2π))", true},
	{"√2√x", "(√2)*(√x)", false}, /* another operator, but the same product */
	{"2√x", "2(√x)", true},
	{"-√2x^y", "-(√(2(x^y)))", true},
	{"∂x(u) * v", "(∂x(u)) * v", true},
	{"∇f(x)", "(∇(f))(x)", true},
	{"∇·v + w", "(∇·v) + w", true},
	{"a · ∇u", "a · (∇u)", true},
};

static void test_precedence(void) {
	for (size_t i = 0; i < sizeof precedences / sizeof *precedences; i++) {
		bool ok1, ok2;
		char *a = parse_and_print(precedences[i].plain, &ok1),
			 *b = parse_and_print(precedences[i].grouped, &ok2);
		bool good = ok1 && ok2 && precedences[i].same == !strcmp(a, b);
		if (!CHECK_MSG(good, "reading: %s", precedences[i].plain)) printf("  %s\n  %s\n", a, b);
		free(a);
		free(b);
	}
}

/* ---- constants ----------------------------------------------------------- */

static const struct {
	const char *text;
	ValueKind kind;
	Dtype dtype;
	int64_t integer;
	double real; /* imaginary part for c128 */
} constants[] = {
	{"0", V_SCALAR, DT_I64, 0, 0},
	{"007", V_SCALAR, DT_I64, 7, 0},
	{"123_456", V_SCALAR, DT_I64, 123456, 0},
	{"9223372036854775807", V_SCALAR, DT_I64, INT64_MAX, 0},
	{"0x7fff_ffff_ffff_ffff", V_SCALAR, DT_I64, INT64_MAX, 0},
	{"0xAbC", V_SCALAR, DT_I64, 0xabc, 0},
	{"0b1000_0001", V_SCALAR, DT_I64, 129, 0},
	{"0.1", V_SCALAR, DT_F64, 0, 0.1},
	{"1_0.5_0", V_SCALAR, DT_F64, 0, 10.5},
	{"1e23", V_SCALAR, DT_F64, 0, 1e23},
	{"1.7976931348623157e308", V_SCALAR, DT_F64, 0, 1.7976931348623157e308},
	{"5e-324", V_SCALAR, DT_F64, 0, 5e-324},
	{"1e-9999", V_SCALAR, DT_F64, 0, 0},
	{"0e99999999999999999999", V_SCALAR, DT_F64, 0, 0},
	{"3.14159265358979323846264338327950288", V_SCALAR, DT_F64, 0, 3.141592653589793},
	{"1.5e+3", V_SCALAR, DT_F64, 0, 1500},
	{"2im", V_SCALAR, DT_C128, 0, 2},
	{"0x10im", V_SCALAR, DT_C128, 0, 16},
	{"1e-3im", V_SCALAR, DT_C128, 0, 1e-3},
	{"99999999999999999999im", V_SCALAR, DT_C128, 0, 1e20},
	{"true", V_SCALAR, DT_BOOL, 1, 0},
	{"false", V_SCALAR, DT_BOOL, 0, 0},
	{"none", V_NONE, DT_BOOL, 0, 0},
};

static void test_constants(void) {
	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
		const char *text = constants[i].text;
		Ctx *c = ctx_new(NULL);
		Reading r = read_text(c, text);
		if (CHECK_MSG(r.ok && r.program.n == 1 && r.program.items[0]->kind == A_CONST,
		              "reading: %s", text)) {
			const Ast *a = r.program.items[0];
			Value v = a->constant.value;
			bool number = v.kind == V_SCALAR && v.dtype != DT_BOOL;
			CHECK_MSG(v.kind == constants[i].kind &&
			              (v.kind == V_NONE || v.dtype == constants[i].dtype),
			          "reading: %s", text);
			CHECK_MSG(a->weak == number, "reading: %s", text);
			if (number && v.dtype == DT_I64)
				CHECK_MSG(v.i == constants[i].integer, "reading: %s", text);
			if (number && v.dtype == DT_F64)
				CHECK_MSG(v.f == constants[i].real, "reading: %s", text);
			if (number && v.dtype == DT_C128)
				CHECK_MSG(creal(v.c) == 0 && cimag(v.c) == constants[i].real, "reading: %s", text);
			if (v.dtype == DT_BOOL && v.kind == V_SCALAR)
				CHECK_MSG(v.b == (constants[i].integer == 1), "reading: %s", text);
		}
		ctx_free(c);
	}
}

/* ---- spans --------------------------------------------------------------- */

static const struct {
	/* The node that prints as `tree` has the span `slice` of the text. */
	const char *text, *tree, *slice;
} spans[] = {
	{"x = (a + b) * c", "(+ a b)", "a + b"},
	{"x = (a + b) * c", "(* (+ a b) c)", "(a + b) * c"},
	{"x = (a + b) * c", "(= x (* (+ a b) c))", "x = (a + b) * c"},
	{"c * (a + b)  # text", "(* c (+ a b))", "c * (a + b)"},
	{"-(a)^2", "(- (^ a 2))", "-(a)^2"},
	{" f(x)[0].g' ", "(prime (. (index (call f x) 0) g) 1)", "f(x)[0].g'"},
	{" f(x)[0].g' ", "(index (call f x) 0)", "f(x)[0]"},
	{"(f)(x)", "(call f x)", "(f)(x)"},
	{"  f(x) = x^2  # c", "(def f (x) (^ x 2))", "f(x) = x^2"},
	{"f(x) = { x }", "(block x)", "{ x }"},
	{"2x^2 + 1", "(juxt 2 (^ x 2))", "2x^2"},
	{"x² + 1", "2", "²"},
	{"x² + 1", "(^ x 2)", "x²"},
	{"[1, 2; 3, 4]'", "[1 2; 3 4]", "[1, 2; 3, 4]"},
	{"a, b = (c, d)", "(tuple c d)", "(c, d)"},
	{"a, b = (c, d)", "(tuple a b)", "a, b"},
	{"(k = 1, l = 2)", "(record (k = 1) (l = 2))", "(k = 1, l = 2)"},
	{"f(...xs)", "xs", "xs"},
	{"(...xs, 1)", "(... xs)", "...xs"},
	{"sum(e for i in 0..n)", "(gen e (for i in (.. 0 n)))", "e for i in 0..n"},
	{"y = [e for i]", "(comp e (for i))", "[e for i]"},
	{"\"a{x + 1:.3}b\"", "(+ x 1)", "x + 1"},
	{"f(\"a{x}\")", "(str \"a\" (x))", "\"a{x}\""},
	{"∂x²(k*u)", "(call d (* k u) x 2)", "∂x²(k*u)"},
	{"∂x²(k*u)", "x", "x"},
	{"∂x²(k*u)", "2", "²"},
	{"∂x²(k*u)", "d", "∂"},
	{"∂x²(k*u)", "(* k u)", "k*u"},
	{"√x + 1", "sqrt", "√"},
	{"√x + 1", "(call sqrt x)", "√x"},
	{"∇·v", "(call div v)", "∇·v"},
	{"if a { b }\nelse { c }; d", "(if a (block b) (block c));", "if a { b }\nelse { c }"},
	{"a < b <= c and d", "(chain a < b <= c)", "a < b <= c"},
	{"x[1.., ...]", "(.. 1 _)", "1.."},
	{"x[1.., ...]", "...", "..."},
	{"x[.. by -1]", "(.. _ _ (- 1))", ".. by -1"},
	{"g((x, y) -> x + y)", "(-> (x y) (+ x y))", "(x, y) -> x + y"},
	{"g(((a, b), c) -> a)", "(tuple a b)", "(a, b)"},
	{"f(x: f64[m, n]) = x", "f64[m n]", "f64[m, n]"},
	{"use nn, optim as o", "(use nn)", "use nn"},
	{"use nn, optim as o", "(use optim as o)", "optim as o"},
	{"problem p { u == 0 at x = 1 }", "(== u 0 (at x 1))", "u == 0 at x = 1"},
	{"problem p { field v[2] }", "2", "2"},
	{"for i, j in xs { break }", "(tuple i j)", "i, j"},
	{"{ return a, b }", "(return (tuple a b))", "return a, b"},
	{"C[i] := i for i in 0..3", "(:= C [i] i (for i in (.. 0 3)))", "C[i] := i for i in 0..3"},
	{"try { a } catch e { b }", "(try (block a) e (block b))", "try { a } catch e { b }"},
};

typedef struct Search {
	Ctx *c;
	const char *tree;
	const Ast *found;
} Search;

static void search(void *ud, const Ast *a) {
	Search *s = ud;
	Text out;
	text_init(&out, s->c);
	ast_print(&out, s->c, a);
	if (!s->found && out.n == strlen(s->tree) && !memcmp(out.at, s->tree, out.n)) s->found = a;
	text_free(&out);
	ast_children(a, search, s);
}

static const Ast *find_node(const Reading *r, const char *tree) {
	Search s = {r->c, tree, NULL};
	for (uint32_t i = 0; i < r->program.n; i++) search(&s, r->program.items[i]);
	return s.found;
}

static bool span_is(const Reading *r, Span at, const char *slice) {
	size_t n = strlen(slice);
	bool good = at.source && at.end - at.start == n && at.end <= r->n &&
	            !memcmp(r->text + at.start, slice, n);
	if (!good)
		printf("  expected the span of: %s\n  got: %.*s\n", slice, (int)(at.end - at.start),
		       r->text + at.start);
	return good;
}

static void test_spans(void) {
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		Ctx *c = ctx_new(NULL);
		Reading r = read_text(c, spans[i].text);
		const Ast *a = find_node(&r, spans[i].tree);
		if (CHECK_MSG(r.ok && a, "reading: %s", spans[i].text))
			CHECK_MSG(span_is(&r, a->span, spans[i].slice), "reading: %s", spans[i].text);
		ctx_free(c);
	}
}

/* Spans and flags that do not belong to a node. */
static void test_inner_spans(void) {
	Ctx *c = ctx_new(NULL);
	Reading r = read_text(c, "a  +  b");
	CHECK(span_is(&r, r.program.items[0]->binary.op_span, "+"));
	r = read_text(c, "f(x, (y) , k = 1; l=2)");
	const Ast *call = r.program.items[0];
	CHECK(span_is(&r, call->call.args[1].span, "(y)") &&
	      span_is(&r, call->call.args[1].value->span, "y"));
	CHECK(call->call.args[1].value->paren && !call->call.args[0].value->paren);
	CHECK(span_is(&r, call->call.args[2].span, "k = 1") &&
	      span_is(&r, call->call.args[3].span, "l=2"));
	r = read_text(c, "f(x, y: f64 = 2; k) -> f64 = x");
	const Ast *def = r.program.items[0];
	CHECK(span_is(&r, def->function.head, "f(x, y: f64 = 2; k) -> f64"));
	CHECK(span_is(&r, def->function.params[1].span, "y: f64 = 2"));
	CHECK(def->function.params[2].named && !def->function.params[1].named);
	r = read_text(c, "r.field_name");
	CHECK(span_is(&r, r.program.items[0]->field.name_span, "field_name"));
	r = read_text(c, "Tij[i] := 1");
	CHECK(span_is(&r, r.program.items[0]->index_def.name_span, "Tij"));
	r = read_text(c, "derivative foo(x) = 1");
	CHECK(span_is(&r, r.program.items[0]->derivative.name_span, "foo"));
	r = read_text(
		c, "problem pp { domain (x, y) in disk(1) periodic, t in [0, 1]; field u, v[2]; eigen λ\n"
		   "u  ==  1 at t = 0, left, (0, 1)\n event e: u - 1 falling { u = 2 } }");
	const Ast *p = r.program.items[0];
	CHECK(r.ok && p->kind == A_PROBLEM);
	CHECK(span_is(&r, p->problem->name_span, "pp"));
	CHECK(span_is(&r, p->problem->domains[0].span, "(x, y) in disk(1) periodic"));
	CHECK(span_is(&r, p->problem->domains[0].spans[1], "y"));
	CHECK(span_is(&r, p->problem->domains[1].span, "t in [0, 1]"));
	CHECK(span_is(&r, p->problem->fields[1].span, "v[2]"));
	CHECK(span_is(&r, p->problem->eigen_span, "λ"));
	CHECK(span_is(&r, p->problem->equations[0]->equation.op_span, "=="));
	CHECK(span_is(&r, p->problem->equations[0]->equation.ats[0].span, "t = 0"));
	CHECK(span_is(&r, p->problem->equations[0]->equation.ats[1].span, "left"));
	CHECK(span_is(&r, p->problem->equations[0]->equation.ats[2].span, "(0, 1)"));
	CHECK(span_is(&r, p->problem->events[0].span, "event e: u - 1 falling { u = 2 }"));
	r = read_text(c, "\"{ x + y =:.3e}\"");
	const StringPiece *piece = &r.program.items[0]->string.pieces[0];
	CHECK(piece->debug && !strcmp(piece->source, "x + y ") && !strcmp(piece->spec, ".3e"));
	r = read_text(c, "\"{x}\"");
	CHECK(!r.program.items[0]->string.pieces[0].debug &&
	      !r.program.items[0]->string.pieces[0].spec);
	r = read_text(c, "a; b\nc;");
	CHECK(r.program.items[0]->hidden && !r.program.items[1]->hidden && r.program.items[2]->hidden);
	uint32_t first = r.program.items[0]->id;
	r = read_text(c, "d");
	CHECK(r.program.items[0]->id > first); /* ids continue through the session */
	CHECK(!diag_total(c));
	ctx_free(c);
}

/* ---- whole programs ------------------------------------------------------ */

static const struct {
	const char *name;
	uint32_t statements;
	const char *text;
} programs[] = {
	{"a page of it", 25,
     "# values: immutable tensors; names may be rebound\n"
     "a = 2.5                                  # f64\n"
     "v = [1, 2, 3]                            # i64[3]\n"
     "A = [1, 2; 3, 4]                         # i64[2,2]; rows end with ;   (same as "
     "[[1,2],[3,4]])\n"
     "x = linspace(-1, 1, 101)\n"
     "z = 3 + 2im                              # c128\n"
     "# functions are equations\n"
     "f(x) = x^2 * sin(x)                      # 2x, 2π, x² are read as in mathematics\n"
     "f'(1.0)                                  # derivative of a function;  A' is the transpose of "
     "a matrix\n"
     "f''(1.0)\n"
     "rosen(x) = sum(100(x[1..] - x[..-1]^2)^2 + (1 - x[..-1])^2)\n"
     "grad(rosen)([1.2, 1, 0.9])\n"
     "hessian(rosen)([1.2, 1, 0.9])\n"
     "# shapes may be said, and then they are checked and bound before anything runs\n"
     "layer(p: (W: f64[m, n], b: f64[m]), x: f64[n]) -> f64[m] = tanh(p.W @ x + p.b)\n"
     "# index notation\n"
     "C[i, k] := sum(A[i, j] * B[j, k] for j)  # becomes one contraction\n"
     "L[i]    := u[i+1] - 2u[i] + u[i-1] for i in 1..n-1\n"
     "s = max(abs(r[i]) for i)\n"
     "# blocks are expressions; assignment inside a loop carries the value round it\n"
     "newton(f, x; tol = 1e-12) = {\n"
     "  for k in 0..50 {\n"
     "    dx = f(x) / f'(x)\n"
     "    x = x - dx\n"
     "    if abs(dx) < tol { break }\n"
     "  }\n"
     "  x\n"
     "}\n"
     "newton(x -> x^2 - 2, 1.0)\n"
     "# a differential equation is a statement, and says nothing of how it is solved\n"
     "problem burgers(ν = 0.01/π) {\n"
     "  domain t in [0, 1], x in [-1, 1]\n"
     "  field u\n"
     "  u_t + u*u_x == ν*u_xx\n"
     "  u == -sin(π*x)   at t = 0\n"
     "  u == 0           at x = -1, x = 1\n"
     "}\n"
     "a = solve(burgers(), fd(n = 512))\n"
     "b = solve(burgers(), chebyshev(n = 256))\n"
     "c = solve(burgers(), pinn(hidden = [20, 20, 20]))\n"
     "compare(a, b, c)                         # a table, and a verdict scripts can use\n"
     "plot(a, c)\n"
     "a.u(0.5, 0.25)                           # solutions are functions of t, x ... and can be "
     "differentiated\n"
     "grad(ν -> solve(burgers(ν), fd(n = 256)).u(1, 0.5))(0.02)\n"},
	{"ball.dsl", 4,
     "problem ball(g = 9.81, e = 0.8) {\n"
     "  domain t in [0, 10]\n"
     "  field h, v\n"
     "  h_t == v\n"
     "  v_t == -g\n"
     "  h == 10 at t = 0\n"
     "  v == 0  at t = 0\n"
     "  event bounce: h falling { v = -e*v }\n"
     "}\n"
     "s = solve(ball())\n"
     "print(s.events.bounce[..6])\n"
     "grad(e -> solve(ball(e = e)).h(5.0))(0.8)\n"},
	{"cavity.dsl", 4,
     "problem cavity(Re = 100) {\n"
     "  domain (x, y) in box([0, 1], [0, 1])\n"
     "  field v[2], p\n"
     "  v·grad(v) == -grad(p) + Δ(v)/Re\n"
     "  div(v) == 0\n"
     "  v == [1, 0] at y = 1\n"
     "  v == [0, 0] at x = 0, x = 1, y = 0\n"
     "  p == 0      at (0, 0)\n"
     "}\n"
     "a = solve(cavity(), fem(h = 1/64, order = 2))\n"
     "b = solve(cavity(), pinn(hidden = [60, 60, 60]))\n"
     "compare(a, b)\n"},
	{"inverse.dsl", 4,
     "problem diffusion(D = 0.1, v = 0.0) {\n"
     "  domain t in [0, 1], x in [-1, 1]\n"
     "  field u\n"
     "  u_t + v*u_x == ∂x(D*u_x)\n"
     "  u == exp(-(x + 0.5)^2 / 0.04) at t = 0\n"
     "  u == 0 at x = -1, x = 1\n"
     "}\n"
     "data = load(\"observations.csv\")                    # columns t, x, u\n"
     "r = fit(diffusion, data, for = (D, v), by = fd(n = 400))\n"
     "print(\"D = {r.D:.4f} ± {r.std.D:.1e}, v = {r.v:.4f} ± {r.std.v:.1e}\")\n"},
	{"kdv.dsl", 6,
     "problem kdv {\n"
     "  domain t in [0, 1], x in [-10, 10] periodic\n"
     "  field u\n"
     "  u_t + 6u*u_x + u_xxx == 0\n"
     "  u == 6*sech(x)^2 at t = 0\n"
     "}\n"
     "a = solve(kdv, fourier(n = 512))\n"
     "b = solve(kdv, fd(n = 2000, order = 6))\n"
     "r = compare(a, b, tol = 1e-3)\n"
     "assert(r.agree, \"the two methods disagree: {r}\")\n"
     "animate(a.u, \"kdv.png\")\n"},
	{"mlp.dsl", 9,
     "use nn, optim\n"
     "net = nn.mlp([2, 32, 32, 1], activation = tanh)    # a record of weights and a function\n"
     "x = rand(1000, 2)\n"
     "y = sin(3x[.., 0]) * x[.., 1]\n"
     "loss(w) = mean((nn.apply(net, w, x)[.., 0] - y)^2)\n"
     "r = optim.minimize(loss, net.weights, lbfgs(), steps = 500, progress = true)\n"
     "print(\"loss {r.value:.2e}\")\n"
     "per_example = map((xi, yi) -> grad(w -> (nn.apply(net, w, xi)[0] - yi)^2)(r.x), x, y)\n"},
	{"poisson_L.dsl", 4,
     "problem membrane {\n"
     "  domain (x, y) in polygon([0, 0; 2, 0; 2, 1; 1, 1; 1, 2; 0, 2])\n"
     "  field u\n"
     "  eigen λ\n"
     "  -Δ(u) == λ*u\n"
     "  u == 0 at boundary\n"
     "}\n"
     "s = solve(membrane, fem(h = 0.02, order = 2), count = 5)\n"
     "print(s.λ)\n"
     "plot(s.u[0])\n"},
	{"robertson.dsl", 4,
     "problem robertson(k = [0.04, 1e4, 3e7]) {\n"
     "  domain t in [0, 4e10]\n"
     "  field y[3]\n"
     "  r1 = k[0]*y[0]\n"
     "  r2 = k[1]*y[1]*y[2]\n"
     "  r3 = k[2]*y[1]^2\n"
     "  y_t == [r2 - r1, r1 - r2 - r3, r3]\n"
     "  y == [1, 0, 0] at t = 0\n"
     "}\n"
     "s = solve(robertson(), bdf(), rtol = 1e-8, atol = [1e-12, 1e-16, 1e-12])\n"
     "print(s.y(40.0), s.stats.steps)\n"
     "J = jacobian(k -> solve(robertson(k), bdf(), rtol = 1e-10, atol = 1e-16).y(0.4))([0.04, 1e4, "
     "3e7]) # f64[3, 3]\n"},
};

static void test_programs(void) {
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		Ctx *c = ctx_new(NULL);
		Reading r = read_text(c, programs[i].text);
		CHECK_MSG(r.ok && !diag_total(c), "reading: %s", programs[i].name);
		bool all =
			CHECK_MSG(r.program.n == programs[i].statements, "reading: %s", programs[i].name);
		if (!all) printf("  %u statements\n", r.program.n);
		CHECK_MSG(trees_are_sound(&r), "reading: %s", programs[i].name);
		CHECK_MSG(tokens_cover(programs[i].text, r.n), "reading: %s", programs[i].name);
		CHECK_MSG(!parse_is_incomplete(programs[i].text, r.n), "reading: %s", programs[i].name);
		ctx_free(c);
	}
}

/* ---- random mutations ---------------------------------------------------- */

static uint64_t random_bits(uint64_t *state) {
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t n) { return n ? (size_t)(random_bits(state) % n) : 0; }

#define MUTANT_MOST 700

static size_t insert(char *text, size_t n, size_t at, const char *what, size_t length) {
	if (n + length > MUTANT_MOST) return n;
	memmove(text + at + length, text + at, n - at);
	memcpy(text + at, what, length);
	return n + length;
}

static size_t mutate(uint64_t *state, char *text, size_t n) {
	static const char *const snippets[] = {
		"(",           ")",       "[",      "]",      "{",        "}",         "\"",
		"\"{",         "}\"",     "'",      ";",      "\n",       ",",         "=",
		"==",          ":=",      "->",     "..",     "...",      ".",         ":",
		"+",           "-",       "*",      "/",      "^",        "@",         "|>",
		"<",           "and",     "or",     "not ",   " if ",     " else ",    " for ",
		" in ",        "while ",  "try ",   "catch",  "return ",  "break",     "²",
		"∂x",          "∂",       "∇",      "∇·",     "√",        "π",         "∘",
		"·",           "×",       "≤",      "→",      "₀",        "0x",        "1e",
		"1.",          ".5",      "2im",    "1_",     "#",        "\\",        "\\u{",
		"problem p {", "domain ", "field ", " at ",   " by ",     "event e: ", "derivative f(x)",
		"use ",        "x",       "f(",     "Δ(",     "9.8<m>",   "\xff",      "\xc3",
		"\xe2\x88",    "\r",      "\t",     "&&",     "!",        "++",        "**",
		"none",        "true",    " as ",   "eigen ", "periodic", "f(x) = ",   "x[",
		"_",
	};
	size_t at = below(state, n + 1), length;
	switch (below(state, 7)) {
	case 0: /* a random byte */ return insert(text, n, at, (char[]){(char)random_bits(state)}, 1);
	case 1:
	case 2: { /* a word or sign of the language */
		const char *s = snippets[below(state, sizeof snippets / sizeof *snippets)];
		return insert(text, n, at, s, strlen(s));
	}
	case 3: /* removes a piece */
		length = below(state, 1 + (n - at < 12 ? n - at : 12));
		memmove(text + at, text + at + length, n - at - length);
		return n - length;
	case 4: /* duplicates a piece, here or elsewhere */
		length = below(state, 1 + (n - at < 40 ? n - at : 40));
		char piece[40];
		memcpy(piece, text + at, length);
		return insert(text, n, below(state, n + 1), piece, length);
	case 5: /* truncates */ return below(state, 8) ? n : at;
	default: /* flips a bit */
		if (at < n) text[at] = (char)(text[at] ^ 1 << below(state, 8));
		return n;
	}
}

static size_t pick_text(uint64_t *state, char *out) {
	size_t which = below(state, sizeof goldens / sizeof *goldens + 100);
	if (which < sizeof goldens / sizeof *goldens) {
		const char *s = goldens[which].text;
		size_t n = strlen(s);
		memcpy(out, s, n);
		return n;
	}
	const char *s = programs[which % (sizeof programs / sizeof *programs)].text;
	size_t n = strlen(s), from = below(state, n / 2);
	while (from && s[from - 1] != '\n') from--;
	n -= from;
	if (n > 400) n = 400;
	memcpy(out, s + from, n);
	return n;
}

static void test_mutations(uint64_t seed) {
	enum { MUTANTS = 100000, PER_CONTEXT = 250 };
	uint64_t state = seed;
	int bad = 0, malformed_ones = 0;
	Ctx *c = NULL;
	for (int i = 0; i < MUTANTS && !bad; i++) {
		if (i % PER_CONTEXT == 0) {
			ctx_free(c);
			c = ctx_new(NULL);
		}
		char text[MUTANT_MOST + 100];
		size_t n = pick_text(&state, text);
		for (size_t k = 1 + below(&state, 6); k; k--) n = mutate(&state, text, n);
		diag_clear(c);
		Reading r = read_bytes(c, text, n);
		malformed_ones += !r.ok;
		char *printed = print_program(&r);
		free(printed);
		parse_is_incomplete(text, n);
		if (diags_are_sound(&r) && trees_are_sound(&r) && tokens_cover(text, n)) continue;
		bad++;
		printf("mutant %d of seed %" PRIu64 ": %.*s\n", i, seed, (int)n, text);
	}
	ctx_free(c);
	CHECK(!bad);
	CHECK(malformed_ones > MUTANTS / 4 && malformed_ones < MUTANTS); /* both kinds occur */
}

int main(int argc, char **argv) {
	test_goldens();
	test_precedence();
	test_constants();
	test_spans();
	test_inner_spans();
	test_programs();
	test_mutations(argc > 1 ? strtoull(argv[1], NULL, 0) : 20240611);
	return check_end();
}
