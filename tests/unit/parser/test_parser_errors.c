/* test_parser_errors.c - unit tests of the parser on malformed, incomplete and
 * oversized texts.
 *
 * Covers messages with their locations and hints, recovery, tokens for
 * highlighting, completeness, limits, and allocation failure.
 *
 * Needs: help.h.
 * Guarantees: prints each failure with the text that was read, then "N passed,
 * N failed"; the exit status says whether all passed.
 */
#include "tests/unit/parser/help.h"

/* ---- messages ------------------------------------------------------------ */

/* The text between « and » is the span of the first message. The two marks are
 * removed before reading. */
typedef struct Malformed {
	const char *marked;
	DiagCode code;
	const char *message, *hint;
	int second; /* start of the second span; -1: none */
} Malformed;

static const Malformed malformed[] = {
	{"x = 3 «$» 4", E_CHAR, "the character `$` (U+0024) has no meaning here", NULL, -1},
	{"x = 3 «∑» 4", E_CHAR, "the character `∑` (U+2211) has no meaning here",
     "a sum is written sum(e for i)", -1},
	{"x = «₀»", E_CHAR, "the subscript `₀` stands behind no name",
     "a name may end with digits and letters below the line, as x₀ does; an element is x[0]", -1},
	{"x«₊» = 3", E_CHAR, "the subscript `₊` stands behind no name",
     "a name may end with digits and letters below the line, as x₀ does; an element is x[0]", -1},
	{"x = «'abc'»", E_CHAR, "a ' that follows neither a name nor a bracket",
     "text is written between double quotes: \"...\"", -1},
	{"x = 3«'»", E_CHAR, "a ' that follows neither a name nor a bracket", NULL, -1},
	{"a«\001»b", E_CHAR, "a control character (U+0001) in the text", NULL, -1},
	{"x = «1.2.3»", E_NUMBER, "`1.2.3` is not a number",
     "numbers look like 12, 1_000, 1.5, 1e-3, 0xff, 0b101 or 2im", -1},
	{"x = «1__0»", E_NUMBER, "`1__0` is not a number",
     "numbers look like 12, 1_000, 1.5, 1e-3, 0xff, 0b101 or 2im", -1},
	{"x = «1_»", E_NUMBER, "`1_` is not a number",
     "numbers look like 12, 1_000, 1.5, 1e-3, 0xff, 0b101 or 2im", -1},
	{"x = «0x»", E_NUMBER, "`0x` is not a number",
     "numbers look like 12, 1_000, 1.5, 1e-3, 0xff, 0b101 or 2im", -1},
	{"x = «0b12»", E_NUMBER, "`0b12` is not a number",
     "numbers look like 12, 1_000, 1.5, 1e-3, 0xff, 0b101 or 2im", -1},
	{"x = «99999999999999999999»", E_NUMBER, "this integer does not fit in 64 bits",
     "a float is written with a point", -1},
	{"x = «1e999»", E_NUMBER, "this number is too large for an f64", "infinity is written inf", -1},
	{"x«⁺⁻» = 3", E_NUMBER, "the exponent `⁺⁻` is not a number", NULL, -1},
	{"∂x«⁰»(u)", E_NUMBER, "the order of a derivative is 1, 2, ..., not `⁰`", NULL, -1},
	{"x = 9.81«<m/s^2>»", E_SYNTAX, "units are reserved syntax",
     "numbers have no units: convert them to one system where they enter", -1},
	{"A «.*» B", E_SYNTAX, "`.*` is not an operator here",
     "write `*`: it works element by element already", -1},
	{"a «&&» b", E_SYNTAX, "`&&` is not an operator here", "write `and`", -1},
	{"x = «!»a", E_SYNTAX, "`!` is not an operator here", "write `not`", -1},
	{"x«++»", E_SYNTAX, "`++` is not an operator here", "write `x += 1`", -1},
	{"x = «\"hello»\ny = \"world\"", E_STRING, "this string has no end", NULL, -1},
	{"x = «\"a {b\"»", E_STRING, "this string ends inside an interpolation",
     "an interpolation ends with }; write \\{ for a brace", -1},
	{"x = \"«{}»\"", E_STRING, "an interpolation needs an expression", "write \\{ for a brace", -1},
	{"x = \"a «{:.3»}\"", E_STRING, "an interpolation needs an expression", "write \\{ for a brace",
     -1},
	{"x = \"«\\q»\"", E_STRING, "an unknown escape in a string",
     "the escapes are \\n \\t \\r \\e \\\" \\\\ \\{ \\} and \\u{3b1}", -1},
	{"x = \"«\\u{110000}»\"", E_STRING, "an unknown escape in a string",
     "the escapes are \\n \\t \\r \\e \\\" \\\\ \\{ \\} and \\u{3b1}", -1},
	{"x = \"{x «y»}\"", E_SYNTAX,
     "expected `:` or `}` behind an interpolated expression, found `y`", NULL, -1},
	{"print(f(x)«»\ny = 2", E_UNCLOSED, "this `(` has no closing `)`", NULL, 5},
	{"f(x,\n  y«»\nz = 3", E_UNCLOSED, "this `(` has no closing `)`", NULL, 1},
	{"x = [1, 2«»\ny = 3", E_UNCLOSED, "this `[` has no closing `]`", NULL, 4},
	{"x = {\n  y = 1«»\n", E_UNCLOSED, "this `{` has no closing `}`", NULL, 4},
	{"f(x) = {\n  for k in 0..5 {\n    x\n}\ny = 1«»\n", E_UNCLOSED, "this `{` has no closing `}`",
     NULL, 25},
	{"x = (1 + 2«]»", E_UNCLOSED, "expected `)` before `]`", NULL, 4},
	{"x = 3 «)»", E_UNCLOSED, "this `)` closes nothing", NULL, -1},
	{"«}»", E_UNCLOSED, "this `}` closes nothing", NULL, -1},
	{"x = «]»", E_UNCLOSED, "this `]` closes nothing", NULL, -1},
	{"a = {(«}»", E_SYNTAX, "expected an expression, found `}`", NULL, -1},
	{"if x «=» 3 { y }", E_SYNTAX, "`=` does not compare", "to compare, write `==`", -1},
	{"while x «=» 3 { y }", E_SYNTAX, "`=` does not compare", "to compare, write `==`", -1},
	{"if x { y } else «z»", E_SYNTAX, "expected `{` after `else`, found `z`", NULL, -1},
	{"if x«»\n{ y }", E_SYNTAX,
     "expected `{` after the condition of `if`, found the end of the line",
     "the `{` of a block stands on the same line", -1},
	{"if x «y»", E_SYNTAX, "expected `{` after the condition of `if`, found `y`", NULL, -1},
	{"if x < 3«:»\n  y", E_SYNTAX, "expected `{` after the condition of `if`, found `:`",
     "a block is written { ... }", -1},
	{"for i «x» { }", E_SYNTAX, "expected `in` and what to go through, found `x`", NULL, -1},
	{"for «3» in x { }", E_SYNTAX, "expected a name behind `for`, found `3`", NULL, -1},
	{"«for» = 3", E_SYNTAX, "`for` is a keyword and cannot be a name", NULL, -1},
	{"«true» = 1", E_SYNTAX, "`true` is a keyword and cannot be a name", NULL, -1},
	{"x = «while»", E_SYNTAX, "`while` is a statement and has no value", NULL, -1},
	{"x«.3»", E_SYNTAX, "expected the end of the statement, found `.3`",
     "an element is written x[0]", -1},
	{"x. «+» 1", E_SYNTAX, "expected the name of a field behind `.`, found `+`", NULL, -1},
	{"let «x» = 3", E_SYNTAX, "expected the end of the statement, found `x`",
     "a name is given a value by `name = value`", -1},
	{"def «f»(x):\n  return x", E_SYNTAX, "expected the end of the statement, found `f`",
     "a function is written f(x) = ...", -1},
	{"print «\"a\"»", E_SYNTAX, "expected the end of the statement, found a string",
     "a call needs parentheses: print(x)", -1},
	{"2 «x»", E_SYNTAX, "expected the end of the statement, found `x`",
     "a product is written 2 * x, or 2x without a space", -1},
	{"f(2 «x»)", E_SYNTAX, "expected `,` or `)` after an argument, found `x`",
     "a product is written 2 * x, or 2x without a space", -1},
	{"f(a «b»)", E_SYNTAX, "expected `,` or `)` after an argument, found `b`",
     "a product is written with `*`", -1},
	{"x = 1 +«»", E_SYNTAX, "expected an expression, found the end of the text", NULL, -1},
	{"x = «*» 2", E_SYNTAX, "expected an expression, found `*`", NULL, -1},
	{"x = 3..«»", E_SYNTAX, "expected an expression, found the end of the text",
     "a range is written a..b; only an index may leave out an end", -1},
	{"x«[]»", E_SYNTAX, "an index is missing", "all elements are x[..]", -1},
	{"x[1 «2»]", E_SYNTAX, "expected `,` or `]` after an index, found `2`",
     "a product is written 2 * x, or 2x without a space", -1},
	{"[1 «2»]", E_SYNTAX, "expected `,`, `;` or `]` after an element, found `2`",
     "the elements of a row are separated by `,`, rows by `;`", -1},
	{"[1, 2«;»]", E_SYNTAX, "a row is missing behind `;`",
     "a matrix of one row is written [[a, b]]", -1},
	{"[«...»a]", E_SYNTAX, "`...` has no meaning in a tensor", "tensors are joined by concat(a, b)",
     -1},
	{"(«a», b = 2)", E_SYNTAX, "a field of a record needs its name",
     "a record is (name = value, ...), a tuple (a, b)", -1},
	{"(a = 1, «2»)", E_SYNTAX, "a field of a record needs its name",
     "a record is (name = value, ...), a tuple (a, b)", -1},
	{"(a «b»)", E_SYNTAX, "expected `,` or `)`, found `b`", NULL, -1},
	{"(e «for» i)", E_SYNTAX, "`for` belongs to the only argument of a call", NULL, -1},
	{"f(1, e «for» i)", E_SYNTAX, "`for` belongs to the only argument of a call", NULL, -1},
	{"f(a; «3»)", E_SYNTAX, "an argument behind `;` needs its name", "write name = value", -1},
	{"f(e for i, «3»)", E_SYNTAX, "expected a name behind `for`, found `3`", NULL, -1},
	{"f(«2») = 3", E_SYNTAX, "expected the name of a parameter, found `2`",
     "f(...) = ... defines a function; to compare, write `==`", -1},
	{"f(x) =«» ", E_SYNTAX, "expected an expression, found the end of the text", NULL, -1},
	{"f(x, «in») = 3", E_SYNTAX, "expected the name of a parameter, but `in` is a keyword", NULL,
     -1},
	{"f(x: «flt64») = x", E_SYNTAX, "`flt64` is not a type", "did you mean `f64`?", -1},
	{"f(x: «zzz») = x", E_SYNTAX, "`zzz` is not a type",
     "types look like f64, f64[m, n], f64[...], function, (W: f64[n], b: f64)", -1},
	{"f(x: f64«[»1, 2, 3, 4, 5, 6, 7, 8, 9]) = x", E_SYNTAX,
     "a tensor has at most 8 axes, this type has 9", NULL, -1},
	{"f(x: (a «f64»)) = x", E_SYNTAX, "expected `:` and the type of the field, found `f64`", NULL,
     -1},
	{"f(x) -> f64 «x»", E_SYNTAX, "expected `=` and the body of the function, found `x`", NULL, -1},
	{"«x + 1» = 2", E_TARGET, "this cannot be assigned to",
     "a target is a name, x[i], r.field or a tuple of them; to compare, write `==`", -1},
	{"«f(x).y» = 3", E_TARGET, "this cannot be assigned to",
     "a target is a name, x[i], r.field or a tuple of them; to compare, write `==`", -1},
	{"«f'(x)» = 3", E_TARGET, "this cannot be assigned to",
     "the derivative of a function is given by `derivative f(x) = ...`", -1},
	{"(«a + 1», b) = c", E_TARGET, "this cannot be assigned to",
     "a target is a name, x[i], r.field or a tuple of them; to compare, write `==`", -1},
	{"a, «2» = c", E_TARGET, "this cannot be assigned to",
     "a target is a name, x[i], r.field or a tuple of them; to compare, write `==`", -1},
	{"«(a, b)» += 1", E_TARGET, "this cannot be assigned to",
     "a target is a name, x[i], r.field or a tuple of them; to compare, write `==`", -1},
	{"a = b «=» 3", E_SYNTAX, "an assignment has one `=`",
     "write one assignment on each line; to compare, write `==`", -1},
	{"x «:=» 3", E_TARGET, "`:=` defines a tensor by its indices",
     "write T[i, j] := ...; a name is given a value by `=`", -1},
	{"C[i, «0»] := 3", E_TARGET, "an index on the left of `:=` is a name",
     "one element is set by x[0] = ...", -1},
	{"C«[»] := 3", E_SYNTAX, "expected the name of an index", NULL, -1},
	{"sin«²»(x)", E_SYNTAX, "a power cannot be called",
     "write the power behind the call, sin(x)², or a product with `*`", -1},
	{"«∂u»/∂x", E_SYNTAX, "a derivative is not a quotient here", "write ∂x(u) or d(u, x)", -1},
	{"«∇³»u", E_SYNTAX, "of the powers of ∇ only ∇² is defined", NULL, -1},
	{"x ->«» ", E_SYNTAX, "expected an expression, found the end of the text", NULL, -1},
	{"x + y «->» 2", E_SYNTAX, "expected the end of the statement, found `->`",
     "the parameters of a function are names: x -> ... or (x, y) -> ...", -1},
	{"(x «+» 1) -> 2", E_SYNTAX, "expected `,` or `)` after a parameter, found `+`", NULL, -1},
	{"try { a }«»", E_SYNTAX,
     "expected `catch` behind the block of `try`, found the end of the text", NULL, -1},
	{"«catch» { a }", E_SYNTAX, "expected an expression, found `catch`", NULL, -1},
	{"«else» { a }", E_SYNTAX, "expected an expression, found `else`",
     "`else` stands behind the } of an `if`", -1},
	{"x = «return» 3", E_SYNTAX, "`return` is a statement and has no value", NULL, -1},
	{"break «3»", E_SYNTAX, "expected the end of the statement, found `3`", NULL, -1},
	{"«return» = 3", E_SYNTAX, "`return` is a keyword and cannot be a name", NULL, -1},
	{"1 «in» x", E_SYNTAX, "expected the end of the statement, found `in`", NULL, -1},
	{"«derivative f(x, y), dx» = 3", E_RULE, "this rule names 1 tangent for 2 parameters", NULL,
     -1},
	{"derivative f(x), «3» = 3", E_SYNTAX, "expected the name of a tangent, such as dx, found `3`",
     NULL, -1},
	{"use nn«.»layers", E_SYNTAX,
     "expected `,`, `as` or the end of the line after a module, found `.`", NULL, -1},
	{"use «\"a{b}\"»", E_SYNTAX, "the path of a module is a plain text, without interpolation",
     NULL, -1},
	{"use nn as «3»", E_SYNTAX, "expected a name for the module, found `3`", NULL, -1},
	{"problem p«»", E_SYNTAX,
     "expected `{` and the domain, unknowns and equations of the problem, found the end of the "
     "text",
     NULL, -1},
	{"problem p { domain x in «0..1» }", E_PROBLEM,
     "a coordinate needs an interval, a range has integers", "write [a, b]", -1},
	{"problem p { domain (x, y) in «[0, 1]» }", E_PROBLEM, "an interval for 2 coordinates",
     "write box([a, b], [c, d])", -1},
	{"problem p { domain x «[»0, 1] }", E_SYNTAX,
     "expected `in` and the interval or region of the coordinate, found `[`", NULL, -1},
	{"problem p { domain x in [0, 1] «wrapped» }", E_SYNTAX,
     "expected `,`, `periodic` or the end of the line after a domain, found `wrapped`", NULL, -1},
	{"problem p { field u «v» }", E_SYNTAX,
     "expected `,` or the end of the line after an unknown, found `v`", NULL, -1},
	{"problem p { field «3» }", E_SYNTAX,
     "expected `==` and the right side of the equation, found `3`", NULL, -1},
	{"problem p { eigen λ; «eigen μ» }", E_DUPLICATE, "a problem has one eigenvalue", NULL, 18},
	{"problem p { u_xx «}»", E_SYNTAX,
     "expected `==` and the right side of the equation, found `}`", NULL, -1},
	{"problem p { u_xx «>=» 0 }", E_PROBLEM, "a problem is made of equations; `>=` is none", NULL,
     -1},
	{"problem p { u «=» 0 at x = 0 }", E_SYNTAX, "a condition is an equation, written with `==`",
     "write `==`", -1},
	{"problem p { 2u «=» 0 }", E_SYNTAX, "an equation is written with `==`", "write `==`", -1},
	{"problem p { u(«0») = 1 }", E_SYNTAX, "expected the name of a parameter, found `0`",
     "f(...) = ... defines a function; to compare, write `==`", -1},
	{"problem p { u == 0 at x «==» 1 }", E_SYNTAX,
     "behind `at`, a coordinate is given its value by `=`", "write x = 1", -1},
	{"problem p { u == 0 at «(0)» }", E_PROBLEM, "expected the coordinates of a point",
     "a face is written x = 0, a point (0, 0)", -1},
	{"problem p { u == 0 at «3» }", E_SYNTAX,
     "expected the name of a coordinate or a part of the boundary, found `3`", NULL, -1},
	{"problem p { u == 0 «x» = 1 }", E_SYNTAX,
     "expected `at` or the end of the line after an equation, found `x`",
     "a condition is written u == 0 at x = 1", -1},
	{"problem p { u == v «==» 0 }", E_SYNTAX,
     "expected `at` or the end of the line after an equation, found `==`", NULL, -1},
	{"problem p { event e «h» }", E_SYNTAX,
     "expected `:` and the expression whose zero is the event, found `h`", NULL, -1},
	{"problem p { event e: h «sinking» }", E_SYNTAX,
     "expected `falling`, `rising`, `terminal` or a block { ... }, found `sinking`", NULL, -1},
	{"problem p { «for» i in x { } }", E_SYNTAX, "`for` is a statement and has no value", NULL, -1},
	{"x = «“»abc”", E_CHAR, "the character `“` (U+201C) has no meaning here",
     "text is written between straight quotes: \"...\"", -1},
	{"a = «\xff\xfe» + 1", E_CHAR, "these bytes are not UTF-8 text", NULL, -1},
	{"a = «\xed\xa0\x80»", E_CHAR, "these bytes are not UTF-8 text", NULL, -1},
	{"a = \"x«\xff»y\"", E_CHAR, "these bytes are not UTF-8 text", NULL, -1},
	{"a = [1, 2«)» + 3", E_UNCLOSED, "expected `]` before `)`", NULL, 4},
};

static size_t strip_marks(const char *marked, char *out, size_t *start, size_t *end) {
	size_t n = 0;
	*start = *end = 0;
	for (const char *p = marked; *p;) {
		if (!strncmp(p, "«", 2)) *start = n, p += 2;
		else if (!strncmp(p, "»", 2)) *end = n, p += 2;
		else out[n++] = *p++;
	}
	out[n] = 0;
	return n;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static void test_malformed(void) {
	for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
		const Malformed *m = &malformed[i];
		char text[400];
		size_t start, end, n = strip_marks(m->marked, text, &start, &end);
		Ctx *c = ctx_new(NULL);
		Reading r = read_bytes(c, text, n);
		if (CHECK_MSG(!r.ok && diag_total(c), "reading: %s", m->marked)) {
			const Diag *d = diag_at(c, 0);
			int second = d->second.source ? (int)d->second.start : -1;
			bool good = d->code == m->code && !strcmp(d->message, m->message) &&
			            same_text(d->hint, m->hint);
			if (!CHECK_MSG(good && second == m->second, "reading: %s", m->marked)) {
				printf("  got: %s: %s\n", diag_code_id(d->code), d->message);
				printf("  hint: %s\n  second: %d\n", d->hint ? d->hint : "-", second);
			}
			if (!CHECK_MSG(d->span.start == start && d->span.end == end, "reading: %s",
			               m->marked)) {
				int length = (int)(d->span.end - d->span.start);
				printf("  got the span %u..%u: %.*s\n", d->span.start, d->span.end, length,
				       text + d->span.start);
			}
		}
		CHECK_MSG(diags_are_sound(&r) && trees_are_sound(&r), "reading: %s", m->marked);
		CHECK_MSG(tokens_cover(text, n), "reading: %s", m->marked);
		ctx_free(c);
	}
}

/* An error discards its own statement only. The others are read, and each
 * mistake is reported once. */
static const struct {
	const char *text;
	uint32_t errors;
	const char *survive; /* what is read in spite of the error */
} recoveries[] = {
	{"a = 1\nb b\nc = 3\nd +\n* 2\ne = 5", 2, "(= a 1)\n(= c 3)\n(= e 5)"},
	{"a b; c = 1; d e; f = 2", 2, "(= c 1);\n(= f 2)"},
	{"f(x) = {\n  a a\n  b\n}\ng = 1", 1, "(def f (x) (block b))\n(= g 1)"},
	{"f(x x) = {\n  a\n  b\n}\ng = 1", 1, "(= g 1)"},
	{"if a {\n  b b\n} else {\n  c c\n  d\n}\ne", 2, "(if a (block) (block d))\ne"},
	{"g(a b, {\n c\n d\n}, 3)\nh", 1, "h"},
	{"x = [1, 2\n  3, 4]\ny = 1", 1, "(= y 1)"},
	{"x = (1\ny = (2\nz = 3", 2, "(= z 3)"},
	{"problem p {\n  field u v\n  u == 1\n  u == 2 at\n  u = 3 at x\n}\ny", 2,
     "(problem p () (field u) (== u 1))\ny"},
	{"x = \"a\nb = \"c\"\nd = 1", 1, "(= x \"a\")\n(= b \"c\")\n(= d 1)"},
	{"a ))))\nb ]]\nc", 2, "c"},
	{"{{{{", 1, ""},
	{"((((", 1, ""},
	{"}}}}", 1, ""},
	{"a = $ + $\nb = 1", 2, "(= b 1)"},
	{"a = 1 ** 2 && 3", 2, "(= a (and (^ 1 2) 3))"},
	{"x = 1.2.3 + 1", 1, "(= x (+ 0 1))"},
	{"m = {\n  n = (1\n}\no = 2", 1, "(= m (block))\n(= o 2)"},
	{"try {\n a a\n}\ncatch e { b }\nc", 1, "(try (block) e (block b))\nc"},
};

static void test_recovery(void) {
	for (size_t i = 0; i < sizeof recoveries / sizeof *recoveries; i++) {
		Ctx *c = ctx_new(NULL);
		Reading r = read_text(c, recoveries[i].text);
		char *printed = print_program(&r);
		bool good = diag_count(c, SEV_ERROR) == recoveries[i].errors &&
		            !strcmp(printed, recoveries[i].survive);
		if (!CHECK_MSG(good, "reading: %s", recoveries[i].text)) {
			printf("  %u errors, read: %s\n", diag_count(c, SEV_ERROR), printed);
			for (uint32_t k = 0; k < diag_total(c); k++) {
				printf("    %u: %s\n", diag_at(c, k)->span.start, diag_at(c, k)->message);
			}
		}
		free(printed);
		ctx_free(c);
	}
}

/* ---- tokens, completeness ------------------------------------------------ */

static const struct {
	const char *text;
	bool incomplete;
} lines[] = {
	{"", false},
	{"a = 1", false},
	{"a = 1;", false},
	{"f(x", true},
	{"f(x)", false},
	{"[1, 2", true},
	{"[1, 2;", true},
	{"f(x) = {", true},
	{"f(x) = { x }", false},
	{"\"abc", true},
	{"\"abc\"", false},
	{"\"a{x\"", true},
	{"\"a{x}", true},
	{"\"a{x}\"", false},
	{"\"a{\"b", true},
	{"a +", true},
	{"a =", true},
	{"f(x) =", true},
	{"x ->", true},
	{"a and", true},
	{"a, ", true},
	{"C[i] :=", true},
	{"x |>", true},
	{"A'", false},
	{"x++", false},
	{"a + # text", true},
	{"# (", false},
	{"\"(\"", false},
	{"f(x))", false},
	{"a ) (", false},
	{"{ (", true},
	{"if a { b } else", true},
	{"for i in", true},
	{"not", true},
	{"x =\n\n", true},
	{"{ [ }", true},
	{"a.", true},
	{"r.for", false},
	{"x = if", true},
	{"r.in", false},
	{"x..", false},
	{"problem p {", true},
	{"x'", false},
};

/* One letter for each token: s space, c comment, n number, t string, i name, k
 * keyword, o operator, b bracket, e error. */
static const struct {
	const char *text, *classes;
} highlights[] = {
	{"x = 1", "isosn"},
	{"if x { y } # c", "ksisbsisbsc"},
	{"\"a{x:.3}b\"", "ttbitbtt"},
	{"f'(2x)", "iobnib"},
	{"r.for + r.if", "ioisosioi"},
	{"problem p { domain t in [0, 1]; field u }", "ksisbsksisksbnosnbosksisb"},
	{"problem = 3; field + 1", "isosnosisosn"},
	{"u == 0 at x = 0", "isosnsksisosn"},
	{"at = at + at", "isosisosi"},
	{"use \"a\" as b", "kstttsksi"},
	{"0..n by 2", "noisksn"},
	{"event e: h falling { }", "ksiosisksbsb"},
	{"derivative f(x) = 1", "ksibibsosn"},
	{"x $ 1.2.3 'a'", "isesese"},
	{"∂x(u) ≤ √y·∇z", "oibibsosoiooi"},
	{"a && b", "isesi"},
	{"\"abc", "tt"},
};

static void append_class(void *ud, TokenClass cls, size_t start, size_t end) {
	char *out = ud;
	size_t n = strlen(out);
	(void)start;
	(void)end;
	if (n < 150) out[n] = "scntikobe"[cls], out[n + 1] = 0;
}

static void test_tokens(void) {
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		CHECK_MSG(parse_is_incomplete(lines[i].text, strlen(lines[i].text)) == lines[i].incomplete,
		          "reading: %s", lines[i].text);
	}
	for (size_t i = 0; i < sizeof highlights / sizeof *highlights; i++) {
		char classes[160] = "";
		parse_tokens(highlights[i].text, strlen(highlights[i].text), append_class, classes);
		if (!CHECK_MSG(!strcmp(classes, highlights[i].classes), "reading: %s", highlights[i].text))
			printf("  got %s\n", classes);
	}
	/* Keywords are not names, but fields and arguments can have them. */
	for (int k = 0; parse_keywords[k]; k++) {
		char text[100];
		bool ok;
		snprintf(text, sizeof text, "%s = 1", parse_keywords[k]);
		free(parse_and_print(text, &ok));
		CHECK_MSG(!ok, "reading: %s", text);
		const char *w = parse_keywords[k];
		snprintf(text, sizeof text, "f(r.%s, %s = 1; %s = 2) + (%s = 3).%s", w, w, w, w, w);
		free(parse_and_print(text, &ok));
		CHECK_MSG(ok, "reading: %s", text);
	}
	static const char *const words[] = {"problem",  "domain",  "field",  "eigen",      "event",
	                                    "at",       "by",      "as",     "derivative", "use",
	                                    "periodic", "falling", "rising", "terminal",   "function"};
	/* These words are names elsewhere. */
	for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
		char text[200];
		bool ok;
		const char *w = words[k];
		const char *format = "%s = 1; %s + %s(%s) - [%s]; %s -> %s; %s(x) = x; r.%s; (%s = 2); "
							 "problem p { %s = 3; %s == 4 }";
		snprintf(text, sizeof text, format, w, w, w, w, w, w, w, w, w, w, w, w);
		free(parse_and_print(text, &ok));
		CHECK_MSG(ok, "reading: %s", text);
	}
}

/* ---- limits -------------------------------------------------------------- */

static char *repeated(const char *head, const char *unit, size_t times, const char *middle,
                      const char *tail, size_t tails) {
	size_t n = strlen(head) + strlen(unit) * times + strlen(middle) + strlen(tail) * tails;
	char *out = malloc(n + 1), *p = out;
	p = stpcpy(p, head);
	for (size_t i = 0; i < times; i++) p = stpcpy(p, unit);
	p = stpcpy(p, middle);
	for (size_t i = 0; i < tails; i++) p = stpcpy(p, tail);
	return out;
}

static const struct {
	const char *head, *unit;
	size_t times;
	const char *middle, *tail;
	size_t tails;
	DiagCode code; /* DIAG_COUNT: well formed */
} limits[] = {
	{"", "(", 390, "x", ")", 390, DIAG_COUNT},
	{"", "{", 390, "x", "}", 390, DIAG_COUNT},
	{"", "-", 390, "x", "", 0, DIAG_COUNT},
	{"x", " + x", 1900, "", "", 0, DIAG_COUNT},
	{"x", "'", 50000, "", "", 0, DIAG_COUNT},
	{"f(", "a, ", 50000, "a", ")", 1, DIAG_COUNT},
	{"[", "1, 2; ", 50000, "1, 2", "]", 1, DIAG_COUNT},
	{"", "a = 1\n", 20000, "", "", 0, DIAG_COUNT},
	{"\"", "{x} ", 20000, "", "\"", 1, DIAG_COUNT},
	{"", "if a { b }\nelse ", 380, "{ c }", "", 0, DIAG_COUNT},
	{"a", " < a", 20000, "", "", 0, DIAG_COUNT},
	{"", "(", 20000, "x", ")", 20000, E_NESTING},
	{"", "[", 20000, "x", "]", 20000, E_NESTING},
	{"", "{\n", 20000, "x", "}\n", 20000, E_NESTING},
	{"", "f(", 20000, "x", ")", 20000, E_NESTING},
	{"", "({[", 20000, "x", "]})", 20000, E_NESTING},
	{"", "(", 20000, "", "", 0, E_NESTING},
	{"", "{", 20000, "", "", 0, E_NESTING},
	{"", "-", 20000, "x", "", 0, E_NESTING},
	{"", "not ", 20000, "x", "", 0, E_NESTING},
	{"", "√", 20000, "x", "", 0, E_NESTING},
	{"", "2^", 20000, "x", "", 0, E_NESTING},
	{"", "x -> ", 20000, "x", "", 0, E_NESTING},
	{"", "∂x", 20000, "(u)", "", 0, E_NESTING},
	{"", "∇·", 20000, "u", "", 0, E_NESTING},
	{"", "if a { b } else ", 20000, "{ c }", "", 0, E_NESTING},
	{"", "for i in x {\n", 20000, "", "}\n", 20000, E_NESTING},
	{"for ", "(", 20000, "i", ")", 20000, E_NESTING},
	{"f(x: ", "(a: ", 20000, "f64", ")", 20001, E_SYNTAX},
	{"f(x: ", "(a: ", 20000, "f64", ")", 20000, E_UNCLOSED},
	{"", "f(x = ", 20000, "", "", 0, E_NESTING},
	{"x", " + x", 20000, "", "", 0, E_NESTING},
	{"x", " |> x", 20000, "", "", 0, E_NESTING},
	{"x", "[0]", 20000, "", "", 0, E_NESTING},
	{"x", ".a", 20000, "", "", 0, E_NESTING},
	{"x", "(0)", 20000, "", "", 0, E_NESTING},
	{"x", " ∘ x", 20000, "", "", 0, E_NESTING},
	{"", "\"{", 20000, "", "", 0, E_NESTING},
	{"", "$ ", 20000, "", "", 0, E_CHAR},
	{"", "x x\n", 20000, "", "", 0, E_SYNTAX},
	{"", ")", 20000, "", "", 0, E_UNCLOSED},
	{"", "(]", 20000, "", "", 0, E_UNCLOSED},
	{"", "(\n", 20000, "", "", 0, E_NESTING},
	{"", "x = (\n", 20000, "", "", 0, E_NESTING},
	{"", "\"", 20001, "", "", 0, E_STRING},
	{"", "9", 20000, "", "", 0, E_NUMBER},
	{"x", "²", 20000, "", "", 0, E_NUMBER},
};

static void test_limits(void) {
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		char *text = repeated(limits[i].head, limits[i].unit, limits[i].times, limits[i].middle,
		                      limits[i].tail, limits[i].tails);
		char what[80];
		snprintf(what, sizeof what, "%s %s... %s", limits[i].head, limits[i].unit,
		         limits[i].middle);
		Ctx *c = ctx_new(NULL);
		Reading r = read_text(c, text);
		if (limits[i].code == DIAG_COUNT) {
			CHECK_MSG(r.ok, "reading: %s", what);
			char *printed = print_program(&r); /* descends into the highest possible tree */
			CHECK_MSG(printed[0], "reading: %s", what);
			free(printed);
		} else if (CHECK_MSG(!r.ok && diag_total(c), "reading: %s", what)) {
			bool seen = false; /* among the first messages */
			for (uint32_t k = 0; k < diag_total(c); k++)
				seen |= diag_at(c, k)->code == limits[i].code;
			if (!CHECK_MSG(seen, "reading: %s", what)) printf("  got %s\n", diag_at(c, 0)->message);
		}
		CHECK_MSG(diags_are_sound(&r) && trees_are_sound(&r), "reading: %s", what);
		CHECK_MSG(tokens_cover(text, r.n), "reading: %s", what);
		ctx_free(c);
		free(text);
	}
	/* Each byte alone, in a string and in an interpolation. */
	for (int byte = 0; byte < 256; byte++) {
		char text[] = {(char)byte, '\n', '"',        (char)byte, '"', '\n',
		               '"',        '{',  (char)byte, '}',        '"', 0};
		Ctx *c = ctx_new(NULL);
		for (size_t n = 1; n < sizeof text; n++) {
			Reading r = read_bytes(c, text, n);
			CHECK(trees_are_sound(&r) && tokens_cover(text, n));
			diag_clear(c);
		}
		ctx_free(c);
	}
}

/* Each allocation fails in turn: parse_program throws ST_NOMEM, and the context
 * can still read. */
static void test_memory(void) {
	const char *text =
		"f(x) = { y = \"a{x}\"; [1, 2; 3, y] }\nproblem p { field u; u == 1 at x = 0 }\n"
		"bad bad\n∂x(u) + ẋ";
	for (uint64_t k = 1; k < 5000; k++) {
		Ctx *c = ctx_new(NULL);
		Reading r = {.c = c, .text = text, .n = strlen(text)};
		heap_fail_at(c, k, k & 1);
		Status s = ctx_protect(c, read_body, &r);
		heap_fail_at(c, 0, false);
		bool good = s == ST_OK || s == ST_NOMEM;
		diag_clear(c);
		Reading again = read_text(c, "a = 1");
		bool usable = again.ok && again.program.n == 1;
		bool done = s == ST_OK && heap_allocation_count(c) < k;
		ctx_free(c);
		if (!CHECK(good && usable) || done) break;
	}
}

int main(void) {
	test_malformed();
	test_recovery();
	test_tokens();
	test_limits();
	test_memory();
	return check_end();
}
