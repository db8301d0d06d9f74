/* test_api_host.c - unit tests of the public interface: functions of the host,
 * and their derivative rules.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"

static int failing(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	(void)ud;
	(void)out;
	if (*(double *)in[0].data > 0) {
		atled_value *v = NULL;
		if (atled_eval(ctx, "1", 1, NULL, &v) != ATLED_BUSY)
			atled_raise(ctx, "the context could be entered twice");
		else atled_raise(ctx, "the pump is off");
	}
	return 1;
}

static int freed;
static void count_free(void *ud) {
	(void)ud;
	freed++;
}

static void test_host(T *t) {
	int calls = 0;
	FINE(t, define_square(t, "sq", true, true, &calls));
	FINE(t, define_square(t, "sqj", true, false, &calls));
	FINE(t, define_square(t, "sqv", false, true, &calls));
	FINE(t, define_square(t, "sq0", false, false, &calls));
	CHECK(number(t, "sum(sq([1.0, 2, 3], 2.0))") == 28 && calls > 0);
	CHECK(number(t, "sum(sq([1, 2, 3], 2))") == 28); /* integers are converted to reals */
	CHECK(number(t, "jvp(x -> sq(x, 2.0), [1.0, 2.0], [1.0, 0.5])[1][1]") == 4);
	CHECK(number(t, "grad(x -> sum(sq(x, 3.0)))([1.0, 2.0])[1]") == 12);
	CHECK(number(t, "grad(a -> sum(sq([1.0, 2.0], a)))(3.0)") == 5);
	CHECK(fabs(number(t, "grad(x -> sum(sq(sin(x), 3.0)))([0.5])[0]") - 6 * sin(0.5) * cos(0.5)) <
	      1e-15);
	CHECK(number(t, "sum(map(x -> sq([x, 1.0], 1.0), [1.0, 2.0, 3.0]))") == 17);
	CHECK(number(t, "jvp(x -> sqj(x, 2.0), [1.0, 2.0], [1.0, 0.5])[1][1]") == 4);
	CHECK(number(t, "grad(x -> sum(sqv(x, 3.0)))([1.0, 2.0])[1]") == 12);
	static const char *const missing[] = {
		"grad(x -> sum(sqj(x, 3.0)))([1.0, 2.0])", "jvp(x -> sqv(x, 2.0), [1.0], [1.0])",
		"grad(x -> sum(sq0(x, 3.0)))([1.0])", "jvp(x -> sq0(x, 2.0), [1.0], [1.0])",
		"grad(y -> grad(x -> sum(sq([x], 3.0)))(y))(1.0)"};
	static const char *const named[] = {"sqj", "sqv", "sq0", "sq0", "sq"};
	for (size_t i = 0; i < 5; i++) {
		CHECK(atled_compile(t->x, missing[i], ATLED_ZERO, NULL) == ATLED_ERROR);
		const atled_error *e = atled_last_error(t->x);
		CHECK(e && !strcmp(e->code, "E0401") && strstr(e->message, named[i]));
		if (e && strcmp(e->code, "E0401")) printf("  %s: %s\n", missing[i], e->message);
	}
	/* Derivatives through the interface. */
	atled_function *f = NULL, *g = NULL;
	FINE(t, atled_compile(t->x, "through(x) = sum(sq(x, 0.5)) + 1", ATLED_ZERO, NULL));
	FINE(t, atled_lookup(t->x, "through", "(f64[n]) -> f64", &f));
	FINE(t, atled_derive(t->x, f, "grad 0", &g));
	atled_tensor *in[1] = {vector(t, 2, (double[]){3, 4})}, *out[1] = {NULL};
	FINE(t, atled_call(t->x, g, 1, in, 1, out));
	CHECK(element(out[0], 0) == 3 && element(out[0], 1) == 4);
	free_all(1, out);
	free_all(1, in);
	atled_function_free(g);
	atled_function_free(f);
	/* Invalid definitions and uses. */
	atled_host bad = {
		.size = sizeof bad, .name = "bad", .type = "(f64[n]) -> f64[m]", .value = square_value};
	CHECK(atled_define_host(t->x, &bad) == ATLED_MISUSE);
	bad.type = "(f64)";
	CHECK(atled_define_host(t->x, &bad) == ATLED_MISUSE);
	bad.type = "(f64) -> f64";
	bad.name = "not a name";
	CHECK(atled_define_host(t->x, &bad) == ATLED_MISUSE);
	CHECK(atled_compile(t->x, "sq([1.0])", ATLED_ZERO, NULL) == ATLED_ERROR &&
	      !strcmp(atled_last_error(t->x)->code, "E0202"));
	CHECK(atled_compile(t->x, "sq(1.0, 2.0)", ATLED_ZERO, NULL) == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "f64[n]"));
	bad = (atled_host){.size = sizeof bad,
	                   .name = "fails",
	                   .type = "(f64) -> f64",
	                   .value = failing,
	                   .free_ud = count_free};
	FINE(t, atled_define_host(t->x, &bad));
	CHECK(atled_compile(t->x, "fails(1.0)", ATLED_ZERO, "f") == ATLED_ERROR);
	CHECK(strstr(atled_last_error(t->x)->message, "the pump is off") &&
	      atled_last_error(t->x)->line == 1);
	CHECK(atled_compile(t->x, "fails(-1.0)", ATLED_ZERO, NULL) == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "fails"));
	CHECK(number(t, "try { fails(1.0) } catch e { 7.0 }") == 7 && !atled_last_error(t->x));
}

/* c x^p, element-wise. */
typedef struct Power {
	double c;
	int p;
} Power;
static int power_value(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	const Power *f = ud;
	(void)ctx;
	for (int64_t i = 0; i < in[0].count; i++)
		((double *)out[0].data)[i] = f->c * pow(((const double *)in[0].data)[i], f->p);
	return 0;
}
static int power_jvp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                     const atled_array *dx, atled_array *out) {
	const Power *f = ud;
	(void)ctx, (void)y;
	for (int64_t i = 0; i < in[0].count; i++)
		((double *)out[0].data)[i] = f->p * f->c * pow(((const double *)in[0].data)[i], f->p - 1) *
		                             ((const double *)dx[0].data)[i];
	return 0;
}
static int power_vjp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                     const atled_array *w, atled_array *out) {
	return power_jvp(ud, ctx, in, y, w, out);
}
/* Wrong in the last element. */
static int wrong_jvp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                     const atled_array *dx, atled_array *out) {
	power_jvp(ud, ctx, in, y, dx, out);
	((double *)out[0].data)[in[0].count - 1] *= 1.5;
	return 0;
}

static atled_status define_power(T *t, const char *name, Power *f, bool jvp, bool vjp, bool wrong) {
	atled_host h = {.size = sizeof h,
	                .name = name,
	                .type = "(f64[n]) -> f64[n]",
	                .ud = f,
	                .value = power_value};
	if (jvp) h.jvp = wrong ? wrong_jvp : power_jvp;
	if (vjp) h.vjp = wrong ? wrong_jvp : power_vjp;
	return atled_define_host(t->x, &h);
}

static bool gives_error(T *t, const char *text, const char *code, const char *part) {
	if (atled_compile(t->x, text, ATLED_ZERO, "rules.dsl") != ATLED_ERROR) return false;
	const atled_error *e = atled_last_error(t->x);
	bool good = e && !strcmp(e->code, code) && strstr(e->message, part);
	if (!good && e) printf("  %s: %s %s\n", text, e->code, e->message);
	return good;
}

/* Rules that the program defines for host functions, in terms of other host
 * functions. */
static void test_host_rules(T *t) {
	static Power cube = {1, 3}, slope = {3, 2}, curve = {6, 1};
	FINE(t, define_power(t, "cube", &cube, false, false, false));
	FINE(t, define_power(t, "cube_slope", &slope, false, false, false));
	FINE(t, define_power(t, "cube_curve", &curve, true, true, false));
	CHECK(gives_error(t, "grad(x -> sum(cube(x)))([2.0])", "E0401", "cube"));
	FINE(t, atled_compile(t->x,
	                      "derivative cube(x) = cube_slope(x)\nderivative cube_slope(x), dx = dx * "
	                      "cube_curve(x)\n",
	                      ATLED_ZERO, NULL));
	CHECK(number(t, "sum(cube([1.0, 2]))") == 9);
	CHECK(number(t, "jvp(cube, [1.0, 2], [1.0, 10])[1][1]") == 120);
	CHECK(number(t, "grad(x -> sum(cube(x)))([1.0, 2])[1]") == 12);
	CHECK(number(t, "hessian(x -> sum(cube(x)))([1.0, 2])[1, 1]") == 12);
	CHECK(number(t, "hessian(x -> sum(cube(x)))([1.0, 2])[0, 1]") == 0);
	CHECK(number(t, "hvp(x -> sum(cube(2x)), [1.0, 2], [0.0, 1])[1]") == 96);
	/* The third derivative uses the host's own rule of cube_curve; the fourth
	 * has no rule. */
	CHECK(number(t, "grad(y -> hessian(x -> sum(cube(x)))(y)[0, 0])([2.0])[0]") == 6);
	CHECK(gives_error(t, "grad(z -> grad(y -> hessian(x -> sum(cube(x)))(y)[0, 0])(z)[0])([2.0])",
	                  "E0401", "cube_curve"));
	CHECK(number(t, "sum(map(x -> cube(x), [1.0, 2; 3, 4]))") == 100);
	CHECK(number(t, "map(grad(x -> sum(cube(x))), [1.0, 2; 3, 4])[1, 0]") == 27);
	CHECK(number(t, "map(x -> hessian(y -> sum(cube(y)))(x), [1.0, 2; 3, 4])[1, 0, 0]") == 18);
	CHECK(number(t, "grad(x -> sum(map(y -> sum(cube(y)), x)))([1.0, 2; 3, 4])[1, 1]") == 48);
	CHECK(number(t, "taylor(x -> sum(cube([x])), 2.0, 3)[2]") == 6);
	CHECK(gives_error(t, "derivative cube(x, k) = k", "E0404", "cube"));
	/* A new function of the same name has no rule. */
	FINE(t, define_power(t, "cube", &cube, false, false, false));
	CHECK(gives_error(t, "grad(x -> sum(cube(x)))([2.0])", "E0401", "cube"));
}

/* What a host's jvp and vjp give is linear: it has derivatives in the tangents
 * and cotangents, and none in the arguments. */
static void test_linear_rules(T *t) {
	static Power cube = {1, 3};
	FINE(t, define_power(t, "both", &cube, true, true, false));
	FINE(t, atled_compile(t->x,
	                      "x0 = [1.0, 2]\nalong(v) = jvp(both, x0, v)[1]\n"
	                      "back(w) = vjp(both, x0)[1](w)",
	                      ATLED_ZERO, NULL));
	CHECK(number(t, "jvp(along, [1.0, 1], [1.0, 10])[1][1]") == 120);
	CHECK(number(t, "grad(v -> sum(along(v) * [1.0, 10]))([1.0, 1])[1]") == 120);
	CHECK(number(t, "jvp(back, [1.0, 1], [1.0, 10])[1][1]") == 120);
	CHECK(number(t, "grad(w -> sum(back(w) * [1.0, 10]))([1.0, 1])[1]") == 120);
	CHECK(number(t, "jacobian(back)([1.0, 1])[0, 0]") == 3);
	CHECK(number(t, "hessian(w -> sum(back(w)^2))([1.0, 1])[1, 1]") == 288);
	CHECK(gives_error(t, "jvp(x -> jvp(both, x, x0)[1], x0, x0)", "E0401", "no second derivative"));
	CHECK(gives_error(t, "grad(x -> sum(jvp(both, x, x0)[1]))(x0)", "E0401", "no second"));
	CHECK(gives_error(t, "jvp(x -> vjp(both, x)[1](x0), x0, x0)", "E0401", "no second"));
	CHECK(gives_error(t, "grad(x -> sum(vjp(both, x)[1](x0)))(x0)", "E0401", "no second"));
}

static void test_rule_checks(T *t) {
	static Power cube = {1, 3}, slope = {3, 2};
	CHECK(atled_check_rules(t->x, (atled_rule_check)7) == ATLED_MISUSE);
	FINE(t, define_power(t, "wrong", &cube, true, false, true));
	FINE(t, define_power(t, "wrong_back", &cube, false, true, true));
	FINE(t, define_power(t, "right", &cube, true, true, false));
	FINE(t, define_power(t, "cube", &cube, false, false, false));
	FINE(t, define_power(t, "cube_slope", &slope, false, false, false));
	CHECK(number(t, "sum(wrong([1.0, 2]))") == 9); /* not checked yet */
	FINE(t, atled_check_rules(t->x, ATLED_RULES_FAIL));
	CHECK(number(t, "sum(right([1.0, 2]))") == 9);
	CHECK(number(t, "grad(x -> sum(right(x)))([1.0, 2])[1]") == 12);
	CHECK(number(t, "sum(map(x -> sum(right(x)), [1.0, 2; 3, 4]))") == 100);
	for (int again = 0; again < 2; again++)
		CHECK(gives_error(t, "wrong([1.0, 2])", "E0405", "the jvp of `wrong`"));
	const atled_error *told = atled_last_error(t->x);
	CHECK(told && strstr(told->message, "of y[1] by argument 0[1]") && told->line == 1);
	CHECK(gives_error(t, "sum(wrong_back(linspace(1.0, 2, 50)))", "E0405",
	                  "the vjp of `wrong_back`"));
	CHECK(gives_error(t, "map(x -> grad(y -> sum(wrong_back(y)))(x), [1.0, 2; 3, 4])", "E0405",
	                  "wrong_back"));
	FINE(t, atled_compile(t->x, "derivative cube(x) = 2 * cube_slope(x)", ATLED_ZERO, "rules.dsl"));
	CHECK(gives_error(t, "grad(x -> sum(cube(x)))([1.0, 2])", "E0405",
	                  "the derivative rule of `cube`"));
	CHECK(number(t, "try { sum(cube([1.0])) } catch e { 7.0 }") == 7);
	FINE(t, atled_compile(t->x, "derivative cube(x) = cube_slope(x)", ATLED_ZERO, NULL));
	CHECK(number(t, "grad(x -> sum(cube(x)))([1.0, 2])[1]") == 12);
	/* A warning. */
	FINE(t, atled_check_rules(t->x, ATLED_RULES_WARN));
	FINE(t, atled_compile(t->x, "half(x) = x^2\nderivative half(x) = x\n", ATLED_ZERO, NULL));
	CHECK(number(t, "half'(3.0)") == 3);
	FINE(t, atled_compile(t->x, "half(x) = x^2\nderivative half(x) = x\nz = half'(3.0)", ATLED_ZERO,
	                      NULL));
	atled_error e = {.size = sizeof e};
	CHECK(atled_error_count(t->x) == 1 && atled_error_at(t->x, 0, &e) == ATLED_OK && e.warning &&
	      !strcmp(e.code, "E0405"));
	FINE(t, atled_check_rules(t->x, ATLED_RULES_TRUSTED));
	FINE(t, atled_compile(t->x, "third(x) = x^2\nderivative third(x) = x\nz = third'(3.0)",
	                      ATLED_ZERO, NULL));
	CHECK(atled_error_count(t->x) == 0);
}

int main(void) {
	T t = {.x = atled_context_new(NULL)};
	if (!t.x) return 1;
	static const TestCase tests[] = {
		{"host", test_host},
		{"host-rules", test_host_rules},
		{"linear-rules", test_linear_rules},
		{"rule-checks", test_rule_checks},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	int before = freed;
	atled_context_free(t.x);
	CHECK(freed == before + 1); /* free_ud is called with the context */
	return check_end();
}
