/* test_session.c - unit tests of a session's contracts other than values.
 *
 * One specialisation serves all extents; failed statements leave no trace.
 *
 * Needs: parser/session/session.h and its dependencies.
 * Guarantees: the last line is `N passed, N failed`.
 */
#include "parser/specialise/internal.h"
#include "tests/unit/support/check.h"
#include "tests/unit/parser/session_help.h"

#include <stdio.h>
#include <string.h>

static Status run(Ctx *c, const char *text) {
	diag_clear(c);
	return session_run(session_of(c), "test.dsl", text, strlen(text), NULL, NULL, NULL);
}

static double number(Ctx *c, const char *name) {
	double x = 0;
	value_as_f64(session_get(session_of(c), name), &x);
	return x;
}

/* Runs `first`, which may use the library for the first time, then `second`.
 * Returns the number of specialisations made by `second`. */
static int64_t added(Ctx *c, const char *first, const char *second) {
	CHECK(run(c, first) == ST_OK);
	uint64_t before = session_specialised(session_of(c));
	CHECK(run(c, second) == ST_OK);
	return (int64_t)(session_specialised(session_of(c)) - before);
}

static void lengths(void) {
	Ctx *c = open_session();
	CHECK(run(c, "f(x) = { s = 0.0; for i in 0..len(x) { s = s + x[i]^2 }; s + sum(sin(x)) * "
	             "sum(x[1..] * x[..-1]) }") == ST_OK);
	CHECK(added(c, "a = f(linspace(0, 1, 100))",
	            "b = f(linspace(0, 1, 200)); d = f(linspace(0, 2, 4321))") == 0);
	CHECK(added(c, "g = grad(f)(linspace(0, 1, 100))", "g = grad(f)(linspace(0, 1, 300))") == 0);
	/* Two arrays of different symbolic extents: equality is checked at run
	 * time. */
	CHECK(run(c, "h(x, y) = x @ y") == ST_OK);
	CHECK(added(c, "a = h(ones(50), ones(50))", "b = h(ones(70), ones(70))") == 0);
	CHECK(number(c, "b") == 70);
	uint64_t before = session_specialised(session_of(c));
	CHECK(run(c, "b = h(ones(70), ones(71))") != ST_OK);
	CHECK(session_specialised(session_of(c)) - before <= 1);
	/* Small extents are part of the type, and so are ranks and dtypes. */
	CHECK(added(c, "a = h(ones(3), ones(3))", "b = h(ones(4), ones(4))") == 1);
	/* A number that determines a shape is static for the function; any other is
	 * data. */
	CHECK(run(c, "k(x, n) = x * n") == ST_OK);
	CHECK(added(c, "a = k(2.0, 3)", "b = k(2.0, 4)") == 0);
	CHECK(run(c, "r(x, axis) = sum(sum(x; axis = axis))") == ST_OK);
	CHECK(added(c, "a = r(ones(20, 30), 0)", "b = r(ones(20, 30), 1)") == 1);
	CHECK(added(c, "a = r(ones(20, 30), 0)", "b = r(ones(40, 50), 0)") == 0);
	ctx_free(c);
}

static void failures(void) {
	Ctx *c = open_session();
	CHECK(run(c, "x = 1.0") == ST_OK);
	CHECK(run(c, "x = [1, 2] + [1, 2, 3]") == ST_ERROR);
	CHECK(number(c, "x") == 1.0);
	CHECK(run(c, "{ x = 2.0; error(\"no\") }") == ST_ERROR);
	CHECK(number(c, "x") == 1.0);
	CHECK(run(c, "x = (") == ST_ERROR);
	CHECK(number(c, "x") == 1.0);
	CHECK(run(c, "for i in 0..10 { x = x + 1; assert(i < 5, \"far enough\") }") == ST_ERROR);
	CHECK(number(c, "x") == 1.0);
	ctx_interrupt_at_poll(c, 3);
	CHECK(run(c, "while true { x = x + 1 }") == ST_INTERRUPTED);
	ctx_clear_interrupt(c);
	CHECK(number(c, "x") == 1.0);
	CHECK(run(c, "x = 3.0") == ST_OK);
	CHECK(number(c, "x") == 3.0);
	/* Functions are looked up when they are called, data when they are
	 * defined. */
	CHECK(run(c, "a = 2.0\ng(x) = x + 1\nf(x) = a * g(x)\na = 5.0\ng(x) = x + 10\ny = f(1.0)") ==
	      ST_OK);
	CHECK(number(c, "y") == 22.0);
	ctx_free(c);
}

/* Definitions of a text that is only checked exist during the check and not
 * afterwards. */
static void checking(void) {
	Ctx *c = open_session();
	static const char
		rule[] = "derivative f(x), dx = 100 * dx",
		module[] = "use stats as s\ns.mean([1.0, 3])",
		both[] = "use stats as s\nf(x) = x^3\nderivative f(x), dx = x * dx\nf'(s.mean([1.0, 3]))";
	CHECK(run(c, "f(x) = x^2\nuse stats as t") == ST_OK);
	CHECK(session_check(session_of(c), "c", rule, sizeof rule - 1) == ST_OK);
	CHECK(run(c, "y = f'(3.0)") == ST_OK);
	CHECK(number(c, "y") == 6.0);
	CHECK(session_check(session_of(c), "c", module, sizeof module - 1) == ST_OK);
	CHECK(run(c, "y = s.mean([1.0, 3])") == ST_ERROR);
	diag_clear(c);
	CHECK(session_check(session_of(c), "c", both, sizeof both - 1) == ST_OK);
	CHECK(run(c, "y = f'(3.0) + t.mean([1.0, 3])") == ST_OK);
	CHECK(number(c, "y") == 8.0);
	CHECK(run(c, "derivative f(x), dx = 10 * dx\ny = f'(3.0)") == ST_OK);
	CHECK(session_check(session_of(c), "c", rule, sizeof rule - 1) == ST_OK);
	CHECK(run(c, "y = f'(3.0)") == ST_OK);
	CHECK(number(c, "y") == 10.0);
	ctx_free(c);
}

/* Allocation n fails, for every n: no crash, no leak (under ASan), and the
 * session continues. */
static void allocation(void) {
	static const char text[] = "f(x) = { s = 0.0; for i in 0..3 { s = s + x^i }; s }\ny = grad(x "
							   "-> sum(map(f, [x, 2x])))(1.5) + f(2.0)";
	int ok = 0;
	for (uint64_t n = 1; n < 400; n += 7) {
		Ctx *c = open_session();
		heap_fail_at(c, n, false);
		Status s = run(c, text);
		heap_fail_at(c, 0, false);
		if (s == ST_OK) ok++;
		CHECK(s == ST_OK || s == ST_NOMEM || s == ST_ERROR);
		CHECK(run(c, text) == ST_OK);
		CHECK(number(c, "y") > 0);
		ctx_free(c);
	}
	CHECK(ok < 57);
}

/* No library module defines the name of a builtin: the definition would
 * silently replace the builtin in all modules. */
static void library_names(void) {
	for (const LibraryText *t = library_texts; t->name; t++)
		for (const char *p = t->names; *p; p += strcspn(p, "\n") + 1) {
			char name[64];
			snprintf(name, sizeof name, "%.*s", (int)strcspn(p, "\n"), p);
			if (builtin_find(name)) printf("%s.dsl defines %s, which is built in\n", t->name, name);
			CHECK(!builtin_find(name));
		}
}

/* Does a file that names this module give the library's function back? */
static bool is_found(Ctx *c, const char *module, const char *name) {
	static const char *const names[] = {"module", "name", "text", "captured"};
	Value f = session_library(session_of(c), atom(c, name)), record = {.kind = V_UNSET},
		  back = {.kind = V_UNSET}, values[4];
	if (f.kind != V_FUNCTION || session_function_out(c, f, &record) != ST_OK) return false;
	Atom atoms[4];
	for (int i = 0; i < 4; i++) {
		atoms[i] = atom(c, names[i]);
		values[i] = value_field(record, atoms[i]);
	}
	values[0] = value_string(c, module, strlen(module));
	Value moved = value_record(c, 4, atoms, values);
	bool found = session_function_in(c, moved, &back) == ST_OK &&
	             ((FunctionObject *)back.object)->code == ((FunctionObject *)f.object)->code;
	value_unref(values[0]);
	value_unref(moved);
	value_unref(record);
	value_unref(back);
	return found;
}

/* A file names the module that had a function when it was written. */
static void saved_functions(void) {
	static const struct {
		const char *module, *name;
	} saved[] = {
		{"quad", "integrate"},
		{"quad", "oscillatory"},
		{"quad", "_globally"},
		{"quad", "_tanh_sinh"},
		{"special", "gamma"},
		{"special", "besselj"},
		{"special", "ellipk"},
		{"special", "legendre"},
		{"special", "primes"},
		{"fem", "_fem_field"},
		{"fem", "_cell_forms"},
		{"fem", "_fluxes"},
		{"fem", "_fem_values"},
		{"fem", "_slope_errors"},
		{"method_of_lines", "_grid_field"},
		{"method_of_lines", "_filled"},
		{"lines", "_jets_on"},
		{"lines", "_slopes_of"},
		{"pinn", "_pinn_field"},
		{"pinn", "_ansatz"},
		{"pinn", "_network"},
		{"pinn", "_pinn_blocks"},
		{"mesher", "refine"},
	};
	Ctx *c = open_session();
	for (size_t i = 0; i < sizeof saved / sizeof *saved; i++)
		CHECK(is_found(c, saved[i].module, saved[i].name));
	CHECK(!is_found(c, "stats", "integrate"));
	CHECK(!is_found(c, "oscillatory", "integrate"));
	diag_clear(c);
	CHECK(run(c, "use quad as q\nx = q.oscillatory(x -> 1.0, 0.0, 0, 1)") == ST_OK);
	CHECK(run(c, "use oscillatory as o\nx = o.integrate(x -> 1.0, 0, 1)") == ST_ERROR);
	ctx_free(c);
}

int main(void) {
	lengths();
	saved_functions();
	library_names();
	failures();
	checking();
	allocation();
	return check_end();
}
