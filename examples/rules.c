/* rules.c - C functions of a host with derivatives to second order: the program
 * declares each as the derivative of the one before.
 *
 *     cc rules.c $(pkg-config --cflags --libs atled) -lm -o rules && ./rules
 *
 * The Lennard-Jones energy of two atoms at distance r and its first and second
 * derivatives are three C functions. Rules of the program relate them, and
 * atled_check_rules compares the rules with finite differences. Newton's method
 * in Atled minimises the total energy of a chain, and finds the atoms'
 * equilibrium.
 */
#include <atled.h>

#include <math.h>
#include <stdio.h>

/* Writes 4 (r^-12 - r^-6) for each element to out, or its first or second
 * derivative. ud points to the order of the derivative. */
static int lennard_jones(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	const double *r = in[0].data;
	double *y = out[0].data;
	const int order = *(const int *)ud;
	for (int64_t i = 0; i < in[0].count; i++) {
		if (!(r[i] > 0)) {
			atled_raise(ctx, "two atoms are in one place");
			return 1;
		}
		const double s6 = pow(r[i], -6), s12 = s6 * s6;
		if (order == 0) y[i] = 4 * (s12 - s6);
		else if (order == 1) y[i] = 4 * (-12 * s12 + 6 * s6) / r[i];
		else y[i] = 4 * (156 * s12 - 42 * s6) / (r[i] * r[i]);
	}
	return 0;
}

static const char program[] =
	"derivative pair(r) = pair_slope(r)\n"
	"derivative pair_slope(r) = pair_curve(r)\n"
	"energy(x) = sum(pair(x[1..] - x[..-1])) + sum(pair(x[2..] - x[..-2]))\n"
	/* The first atom is fixed. */
	"chain(gaps) = energy(concat([0.0], cumsum(gaps)))\n"
	"newton(gaps) = {\n"
	"  for k in 0..20 { gaps = gaps - linsolve(hessian(chain)(gaps), grad(chain)(gaps)) }\n"
	"  gaps\n"
	"}\n"
	"gaps = newton([1.1, 1.1, 1.1, 1.1])\n"
	"rest = norm(grad(chain)(gaps))\n";

static void to_stderr(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stderr);
}

static void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

static int failed(atled_context *ctx) {
	for (size_t i = 0; i < atled_error_count(ctx); i++)
		atled_error_write(ctx, i, ATLED_ERROR_TEXT, to_stderr, NULL);
	return 1;
}

int main(void) {
	static int orders[] = {0, 1, 2};
	static const char *const names[] = {"pair", "pair_slope", "pair_curve"};
	atled_context *ctx = atled_context_new(NULL);
	if (!ctx) return 1;
	int code = 0;
	for (int i = 0; i < 3 && !code; i++) {
		atled_host host = {.size = sizeof host,
		                   .name = names[i],
		                   .type = "(f64[n]) -> f64[n]",
		                   .ud = &orders[i],
		                   .value = lennard_jones};
		if (atled_define_host(ctx, &host) != ATLED_OK) code = failed(ctx);
	}
	atled_value *gaps = NULL, *rest = NULL;
	double size = 1;
	if (!code && atled_check_rules(ctx, ATLED_RULES_FAIL) != ATLED_OK) code = failed(ctx);
	if (!code && atled_compile(ctx, program, ATLED_ZERO, "chain.dsl") != ATLED_OK)
		code = failed(ctx);
	if (!code &&
	    (atled_get(ctx, "gaps", &gaps) != ATLED_OK || atled_get(ctx, "rest", &rest) != ATLED_OK))
		code = failed(ctx);
	if (!code) {
		printf("distances at rest: ");
		atled_value_write(gaps, ".6f", 0, to_stdout, NULL);
		printf("\n");
		if (!atled_value_f64(rest, &size) || !(size < 1e-10)) code = 1;
	}
	atled_value_free(gaps);
	atled_value_free(rest);
	atled_context_free(ctx);
	return code;
}
