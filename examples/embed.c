/* embed.c - Atled inside a C program: an energy that calls a C function, its
 * gradient through that function, and its minimisation in a C loop.
 *
 *     cc embed.c $(pkg-config --cflags --libs atled) -lm -o embed && ./embed
 *
 * The energy is that of a chain of particles. Each is in a double well (in C,
 * with derivative rules), and springs couple them (in Atled).
 */
#include <atled.h>

#include <math.h>
#include <stdio.h>

#define N 8

/* well(x) = sum (x_i^2 - 1)^2 */
static int well(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	const double *x = in[0].data;
	double *y = out[0].data;
	(void)ud;
	for (int64_t i = 0; i < in[0].count; i++) {
		if (!isfinite(x[i])) {
			atled_raise(ctx, "a particle has left the well");
			return 1;
		}
		*y += (x[i] * x[i] - 1) * (x[i] * x[i] - 1);
	}
	return 0;
}

/* Writes the directional derivative of well along dx to out. */
static int well_jvp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                    const atled_array *dx, atled_array *out) {
	const double *x = in[0].data, *d = dx[0].data;
	(void)ud, (void)ctx, (void)y;
	for (int64_t i = 0; i < in[0].count; i++)
		*(double *)out[0].data += 4 * x[i] * (x[i] * x[i] - 1) * d[i];
	return 0;
}

/* Writes the gradient of well times the cotangent w of the result to out. */
static int well_vjp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                    const atled_array *w, atled_array *out) {
	const double *x = in[0].data;
	(void)ud, (void)ctx, (void)y;
	for (int64_t i = 0; i < in[0].count; i++)
		((double *)out[0].data)[i] = 4 * x[i] * (x[i] * x[i] - 1) * *(double *)w[0].data;
	return 0;
}

static const char program[] = "springs(x, k) = k * sum((x[1..] - x[..-1])^2)\n"
							  "energy(x, k) = well(x) + springs(x, k)\n";

static void to_stderr(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stderr);
}

static int failed(atled_context *ctx, const char *what) {
	fprintf(stderr, "%s:\n", what);
	for (size_t i = 0; i < atled_error_count(ctx); i++)
		atled_error_write(ctx, i, ATLED_ERROR_TEXT, to_stderr, NULL);
	return 1;
}

static int minimise(atled_context *ctx, const atled_function *energy_and_gradient) {
	atled_raw call;
	void *ud;
	if (atled_entry(ctx, energy_and_gradient, &call, &ud) != ATLED_OK)
		return failed(ctx, "no entry");
	double x[N], gradient[N], energy = 0, k = 0.05, steepest = 0;
	int64_t n = N;
	for (int i = 0; i < N; i++) x[i] = i < N / 2 ? -0.5 : 0.7;
	int step = 0;
	for (; step < 2000; step++) {
		const void *in[] = {x, &k};
		void *out[] = {&energy, gradient};
		if (call(ud, &n, in, out) != ATLED_OK) return failed(ctx, "the energy");
		steepest = 0;
		for (int i = 0; i < N; i++) {
			x[i] -= 0.05 * gradient[i];
			steepest = fmax(steepest, fabs(gradient[i]));
		}
		if (steepest < 1e-10) break;
	}
	printf("energy %.6f after %d steps, the particles at", energy, step);
	for (int i = 0; i < N; i++) printf(" %.3f", x[i]);
	printf("\n");
	return steepest < 1e-10 ? 0 : 1;
}

int main(void) {
	atled_context *ctx = atled_context_new(NULL);
	if (!ctx) return 1;
	atled_host host = {.size = sizeof host,
	                   .name = "well",
	                   .type = "(f64[n]) -> f64",
	                   .value = well,
	                   .jvp = well_jvp,
	                   .vjp = well_vjp};
	atled_function *energy = NULL, *gradient = NULL;
	int code;
	if (atled_define_host(ctx, &host) != ATLED_OK ||
	    atled_compile(ctx, program, ATLED_ZERO, "chain.dsl") != ATLED_OK)
		code = failed(ctx, "the program");
	else if (atled_lookup(ctx, "energy", "(f64[n], f64) -> f64", &energy) != ATLED_OK)
		code = failed(ctx, "the energy");
	else if (atled_derive(ctx, energy, "value_and_grad 0", &gradient) != ATLED_OK)
		code = failed(ctx, "the gradient");
	else {
		printf("energy:    %s\ngradient:  %s\n", atled_function_type(energy),
		       atled_function_type(gradient));
		code = minimise(ctx, gradient);
	}
	atled_function_free(gradient);
	atled_function_free(energy);
	atled_context_free(ctx);
	return code;
}
