/* test_format.c - unit tests of the formatter.
 *
 * Oracle: the expected text of single lines. For every .dsl file of the
 * repository, formatting is idempotent and preserves the comments and, except
 * for spans, the trees; it rejects files with syntax errors. The programs in
 * examples/ and bench/programs are formatted already.
 *
 * Needs: parser/ (lexer, parser, ast, format); the folders stdlib, examples,
 * bench/programs and tests in the working directory.
 * Guarantees: prints each failure, then "N passed, N failed".
 */
#include "tests/unit/support/check.h"
#include "parser/syntax/ast.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- formatting in its own context --------------------------------------- */

static char *format(const char *text, size_t n, Status *st) {
	Ctx *c = ctx_new(NULL);
	Text out;
	text_init(&out, c);
	*st = format_program(c, "test.dsl", text, n, &out);
	char *copy = calloc(out.n + 1, 1);
	if (*st == ST_OK && out.n) memcpy(copy, out.at, out.n);
	text_free(&out);
	ctx_free(c);
	return copy;
}

/* ---- trees and comments, found independently of the formatter ------------ */

typedef struct Reading {
	const char *text;
	size_t n;
	Text out;
	bool ok;
} Reading;

static void print_body(Ctx *c, void *arg) {
	Reading *r = arg;
	Program p = parse_program(c, ctx_arena(c), source_add(c, "test.dsl", r->text, r->n), &r->ok);
	for (uint32_t i = 0; i < p.n; i++) {
		ast_print(&r->out, c, p.items[i]);
		text_str(&r->out, "\n");
	}
}

static char *trees(const char *text, size_t n, bool *ok) {
	Ctx *c = ctx_new(NULL);
	Reading r = {.text = text, .n = n};
	text_init(&r.out, c);
	ctx_protect(c, print_body, &r);
	char *copy = calloc(r.out.n + 1, 1);
	if (r.out.n) memcpy(copy, r.out.at, r.out.n);
	text_free(&r.out);
	ctx_free(c);
	if (ok) *ok = r.ok;
	return copy;
}

typedef struct Comments {
	const char *text;
	char *out;
	size_t n;
} Comments;

static void note_comment(void *ud, TokenClass cls, size_t start, size_t end) {
	Comments *k = ud;
	if (cls != TC_COMMENT) return;
	while (end > start && strchr(" \t\r\v\f", k->text[end - 1])) end--;
	memcpy(k->out + k->n, k->text + start, end - start);
	k->n += end - start;
	k->out[k->n++] = '\n';
}

static char *comments(const char *text, size_t n) {
	Comments k = {.text = text, .out = calloc(2 * n + 2, 1)};
	parse_tokens(text, n, note_comment, &k);
	return k.out;
}

static bool same(char *a, char *b) {
	bool equal = !strcmp(a, b);
	free(a);
	free(b);
	return equal;
}

/* ---- single lines -------------------------------------------------------- */

static const char *const cases[][2] = {
	{"x=1", "x = 1\n"},
	{"f( x,y ;k=2 )=x+y*k", "f(x, y; k = 2) = x + y*k\n"},
	{"a*b+c * d", "a*b + c * d\n"},
	{"x [ 1 .. 3 ,.. ]", "x[1..3, ..]\n"},
	{"x[i+1]-x[ i -1 ]", "x[i+1] - x[i - 1]\n"},
	{"x[(i+1) % n] + x[i+2 * j]", "x[(i+1) % n] + x[i + 2 * j]\n"},
	{"for i in 0..n-1{ s+=i }", "for i in 0..n-1 { s += i }\n"},
	{"-x^ 2+-y", "-x^2 + -y\n"},
	{"- -3\n--3\nnot  a", "- -3\n--3\nnot a\n"},
	{"2x+3(a+b)-2√4", "2x + 3(a + b) - 2√4\n"},
	{"A'@B", "A'@B\n"},
	{"f '(1.0)", NULL},
	{"x->x^2|>f", "x -> x^2 |> f\n"},
	{"∂x²(u)+∂( f,1 )(x)+∇·v+∇f", "∂x²(u) + ∂(f, 1)(x) + ∇·v + ∇f\n"},
	{"[1,2;3,4]", "[1, 2; 3, 4]\n"},
	{"(a,)", "(a,)\n"},
	{"lorenz( ;x0=1 )", "lorenz(; x0 = 1)\n"},
	{"( ...r,b=1 )", "(...r, b = 1)\n"},
	{"if a{1}else{2}", "if a { 1 } else { 2 }\n"},
	{"if a {\n1\n}\nelse {\n2\n}", "if a {\n  1\n} else {\n  2\n}\n"},
	{"if a { 1 }\nelse { 2 }", "if a { 1 }\nelse { 2 }\n"},
	{"use nn  as n", "use nn as n\n"},
	{"layer(p:(W:f64[m,n],b:f64[m]),x:f64[n])->f64[m]=tanh(p.W@x+p.b)",
     "layer(p: (W: f64[m, n], b: f64[m]), x: f64[n]) -> f64[m] = tanh(p.W@x + p.b)\n"},
	{"problem p{domain (x,y) in box([0,1],[0,1]);field u;Δ(u)==1;u==0 at boundary}",
     "problem p { domain (x, y) in box([0, 1], [0, 1]); field u; Δ(u) == 1; "
     "u == 0 at boundary }\n"},
	{"problem p {\nfield u\nu == 0\nat t = 0\n}\nat (x) = 1",
     "problem p {\n  field u\n  u == 0\n    at t = 0\n}\nat(x) = 1\n"},
	{"\n\n\na=1\n\n\n\nb=2\n\n", "a = 1\n\nb = 2\n"},
	{"f(x)={\n\n\ta=1\r\n\t\tb = 2   \n\n}", "f(x) = {\n  a = 1\n  b = 2\n}\n"},
	{"a = 1   #> 1\nbb = 2  #> 2", "a = 1   #> 1\nbb = 2  #> 2\n"},
	{"a=1#x\n#  y  \n# z", "a = 1  #x\n#  y\n# z\n"},
	{"f(x) = {\n# one\nx # two\n# three\n}", "f(x) = {\n  # one\n  x  # two\n  # three\n}\n"},
	{"a   = 1\nbbb = 2", "a   = 1\nbbb = 2\n"},
	{"a    = 1\nbbbb = 2+x\nc  =3", "a    = 1\nbbbb = 2 + x\nc = 3\n"},
	{"problem p {\nu == 0         at x = 1\nu == -sin(π*x) at t = 0\n}",
     "problem p {\n  u == 0         at x = 1\n  u == -sin(π*x) at t = 0\n}\n"},
	{"M = [  1,  20;\n     300,   4]", "M = [1,  20;\n     300, 4]\n"},
	{"s = \"a  {x+1 = } {f( x ):.3e}\"+\"b\n   c\"",
     "s = \"a  {x+1 = } {f( x ):.3e}\" + \"b\n   c\"\n"},
	{"x = a +\nb\n* c", "x = a +\n  b\n  * c\n"},
	{"map(k->{\nk\n},xs)", "map(k -> {\n  k\n}, xs)\n"},
	{"f(a,\nb)", "f(a,\n  b)\n"},
	{"f(a,\n  b)\ng(a,\n  b)", "f(a,\n  b)\ng(a,\n  b)\n"},
	{"x = g(aa,\n      bb)", "x = g(aa,\n      bb)\n"},
	{"f(a,\nb) = {\nc\n}", "f(a,\n  b) = {\n  c\n}\n"},
	{"if a and\nb {\nc\n}", "if a and\n  b {\n  c\n}\n"},
	{"{}", "{}\n"},
	{"", ""},
	{"\n\n# only a comment", "# only a comment\n"},
	{"fit(x, for = (D,v), in=3)", "fit(x, for = (D, v), in = 3)\n"},
	{"0..10 by -2", "0..10 by -2\n"},
	{"x[.. by -1]", "x[.. by -1]\n"},
	{"1. ..5", "1. ..5\n"},
	{"a;b ;\nc", "a; b;\nc\n"},
	{"return - x", "return -x\n"},
	{"try{f()}catch m{0}", "try { f() } catch m { 0 }\n"},
	{"sum(x[i]*y[i]for i in 0..n if i>2)", "sum(x[i]*y[i] for i in 0..n if i > 2)\n"},
	{"C[ i,k ]:=sum(A[i,j]*B[j,k] for j)", "C[i, k] := sum(A[i, j]*B[j, k] for j)\n"},
	/* Lines that are too long. */
	{"report(\"one literal of a long message that has to go \" \"over more lines than one\" \", "
     "\"\"\")",
     "report(\"one literal of a long message that has to go \" \"over more lines than one\" \", \" "
     "\"\")\n"},
	{"report(\"one literal of a long message that has to go over more \" \"lines than one can, "
     "{n}\" \" of them\")",
     "report(\"one literal of a long message that has to go over more \" \"lines than one can, "
     "{n}\"\n  \" of them\")\n"},
	{"r[i,j]:=first_function_of_many(i,j)+second_function_of_many(i,j) for i in 0..1000, j in "
     "0..n_of_j",
     "r[i, j] := first_function_of_many(i, j) + second_function_of_many(i, j) for i in 0..1000,\n  "
     "j in 0..n_of_j\n"},
	{"value = first_function_of_many(argument_number_one, argument_number_two) + "
     "second_function(argument_number_three, argument_number_four)",
     "value = first_function_of_many(argument_number_one, argument_number_two) +\n  "
     "second_function(argument_number_three, argument_number_four)\n"},
	{"definition_of(argument) = some_function_with_a_name(argument_number_one, "
     "argument_number_two, argument_number_three, argument_number_four)",
     "definition_of(argument) =\n  some_function_with_a_name(argument_number_one, "
     "argument_number_two, argument_number_three,\n    argument_number_four)\n"},
	{"choice = if some_condition_of(the_argument) { the_result_of_the_first(the_argument, 1) } "
     "else { the_result_of_the_second(the_argument, 2) }",
     "choice = if some_condition_of(the_argument) {\n  the_result_of_the_first(the_argument, 1)\n} "
     "else {\n"
     "  the_result_of_the_second(the_argument, 2)\n}\n"},
	{"numbers = [1000000000000001, 1000000000000002, 1000000000000003, 1000000000000004, "
     "1000000000000005, 1000000000000006, 1000000000000007,\n1000000000000008, 9]",
     "numbers = [1000000000000001, 1000000000000002, 1000000000000003, 1000000000000004, "
     "1000000000000005,\n"
     "  1000000000000006, 1000000000000007, 1000000000000008, 9]\n"},
};

static void test_cases(void) {
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Status st, again_st;
		char *out = format(cases[i][0], strlen(cases[i][0]), &st);
		bool good = cases[i][1] ? st == ST_OK && !strcmp(out, cases[i][1]) : st == ST_ERROR;
		CHECK(good);
		if (!good)
			printf("formatting:\n%s\ngave:\n%s\nnot:\n%s\n", cases[i][0], out,
			       cases[i][1] ? cases[i][1] : "an error");
		if (st == ST_OK) {
			char *again = format(out, strlen(out), &again_st);
			CHECK(again_st == ST_OK && !strcmp(out, again));
			free(again);
		}
		free(out);
	}
}

/* ---- every program of the repository ------------------------------------- */

static int programs, refused;

static char *read_file(const char *path, size_t *n) {
	FILE *in = fopen(path, "rb");
	if (!in) return NULL;
	char *text = NULL;
	long size = fseek(in, 0, SEEK_END) ? -1 : ftell(in);
	if (size >= 0 && !fseek(in, 0, SEEK_SET) && (text = calloc((size_t)size + 1, 1)))
		*n = fread(text, 1, (size_t)size, in);
	fclose(in);
	return text;
}

static void test_program(const char *path, bool formatted) {
	size_t n = 0;
	char *text = read_file(path, &n);
	CHECK(text);
	if (!text) return;
	Status st;
	bool ok;
	char *before = trees(text, n, &ok), *out = format(text, n, &st);
	check_in(path);
	CHECK((st == ST_OK) == ok);
	if (ok && st == ST_OK) {
		size_t length = strlen(out);
		char *again = format(out, length, &st);
		CHECK(st == ST_OK && !strcmp(out, again));
		free(again);
		CHECK(same(comments(text, n), comments(out, length)));
		CHECK(!strcmp(before, again = trees(out, length, NULL)));
		free(again);
		if (formatted) CHECK(!strcmp(text, out));
		programs++;
	} else {
		CHECK(!*out);
		refused++;
	}
	check_in(NULL);
	free(before);
	free(out);
	free(text);
}

static void visit(const char *folder, bool formatted) {
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, NULL, alphasort);
	CHECK(n >= 0);
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char path[1000];
		snprintf(path, sizeof path, "%s/%s", folder, name);
		size_t length = strlen(name);
		if (length > 4 && !strcmp(name + length - 4, ".dsl")) test_program(path, formatted);
		else if (name[0] != '.' && !strchr(name, '.')) {
			DIR *d = opendir(path);
			if (d) {
				closedir(d);
				visit(path, formatted);
			}
		}
		free(entries[i]);
	}
	free(entries);
}

int main(void) {
	test_cases();
	visit("examples", true);
	visit("bench/programs", true);
	visit("stdlib", false);
	visit("tests", false);
	CHECK(programs > 100 && refused > 10);
	printf("%d programs, %d with syntax errors\n", programs, refused);
	return check_end();
}
