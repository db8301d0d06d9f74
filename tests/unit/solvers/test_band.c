/* test_band.c - banded systems of every width: factors, solves, their
 * transposes, and the order that narrows a band.
 *
 * Oracle: the residual in extended precision. It is below a few roundings of
 * sum |a| |x| (backward error; N. Higham, Accuracy and Stability of Numerical
 * Algorithms, 2002, chapter 9), times the growth that interchanges allow.
 *
 * Needs: solvers/linear/band.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "solvers/linear/band.h"
#include "tests/unit/support/check.h"
#include "tests/unit/support/draw.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double _Complex Complex;

/* One system: its matrix by rows, a right side, and a solution in progress.
 * Numbers of a real system have no imaginary part. */
typedef struct System {
	Bandwidth b;
	bool has_im, dominant;
	Complex *a, *rhs;
} System;

static double number(uint64_t *seed) { return (double)draw(seed, 2000001) / 1e6 - 1; }

static Complex entry(const System *s, int64_t i, int64_t j) { return s->a[i * s->b.n + j]; }

static bool inside(Bandwidth b, int64_t i, int64_t j) {
	return i - j <= b.below && j - i <= b.above;
}

static System make(Bandwidth b, bool has_im, bool dominant, uint64_t *seed) {
	System s = {.b = b, .has_im = has_im, .dominant = dominant};
	s.a = calloc((size_t)(b.n * b.n), sizeof *s.a);
	s.rhs = calloc((size_t)b.n, sizeof *s.rhs);
	if (!s.a || !s.rhs) exit(2);
	for (int64_t i = 0; i < b.n; i++) {
		for (int64_t j = 0; j < b.n; j++)
			if (inside(b, i, j)) s.a[i * b.n + j] = number(seed) + (has_im ? I * number(seed) : 0);
		if (dominant) s.a[i * b.n + i] += 2.0 * (double)(b.below + b.above + 1);
		s.rhs[i] = number(seed) + (has_im ? I * number(seed) : 0);
	}
	return s;
}

static void put(const System *s, double *to, int64_t at, Complex z) {
	if (s->has_im) {
		to[2 * at] = creal(z);
		to[2 * at + 1] = cimag(z);
	} else to[at] = creal(z);
}

static Complex get(const System *s, const double *from, int64_t at) {
	return s->has_im ? from[2 * at] + I * from[2 * at + 1] : from[at];
}

static double *banded(const System *s) {
	const int64_t n = s->b.n, size = n * band_stride(s->b) * (s->has_im ? 2 : 1);
	double *f = calloc((size_t)size, sizeof *f);
	if (!f) exit(2);
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j < n; j++)
			if (inside(s->b, i, j)) put(s, f, band_place(s->b, i, j), entry(s, i, j));
	return f;
}

/* The largest residual in units of what rounding explains: of its own row
 * without interchanges, else of the largest row, since the factors of a row
 * reach other unknowns. */
static double residual(const System *s, const double *x, bool transposed) {
	double worst = 0, largest = 0, size_most = 0;
	for (int64_t i = 0; i < s->b.n; i++) {
		long double _Complex sum = -s->rhs[i];
		double size = cabs(s->rhs[i]);
		for (int64_t j = 0; j < s->b.n; j++) {
			const Complex a = transposed ? conj(entry(s, j, i)) : entry(s, i, j), z = get(s, x, j);
			sum += (long double _Complex)a * z;
			size += cabs(a) * cabs(z);
		}
		const double one = (double)cabsl(sum);
		largest = fmax(largest, one);
		size_most = fmax(size_most, size);
		worst = fmax(worst, one / (size * DBL_EPSILON));
		if (!isfinite(one)) return INFINITY;
	}
	return s->dominant ? worst : largest / (size_most * DBL_EPSILON);
}

static BandForm factor(const System *s, double *f, double *exchanges) {
	return s->has_im ? band_factor_complex(s->b, f, exchanges) : band_factor(s->b, f, exchanges);
}

static void check_solves(const System *s, BandForm form, const double *f, const double *exchanges) {
	const int64_t n = s->b.n;
	double *x = calloc((size_t)(2 * n), sizeof *x);
	if (!x) exit(2);
	/* Each of the steps of a row adds rounding errors; interchanges let
	 * elements grow. */
	const double steps = 8.0 * (double)(s->b.below + s->b.above + 4),
				 allowed = s->dominant ? steps : steps * 64;
	for (int transposed = 0; transposed < 2; transposed++) {
		for (int64_t i = 0; i < n; i++) put(s, x, i, s->rhs[i]);
		if (s->has_im) band_solve_complex(s->b, form, transposed, f, exchanges, x);
		else band_solve(s->b, form, transposed, f, exchanges, x);
		const double worst = residual(s, x, transposed);
		CHECK_MSG(worst <= allowed, "n %lld, band %lld %lld, form %d%s%s: %.3g roundings",
		          (long long)n, (long long)s->b.below, (long long)s->b.above, (int)form,
		          s->has_im ? ", complex" : "", transposed ? ", transposed" : "", worst);
	}
	free(x);
}

static void check_system(Bandwidth b, bool has_im, bool dominant, uint64_t *seed) {
	System s = make(b, has_im, dominant, seed);
	double *f = banded(&s), *exchanges = calloc((size_t)b.n, sizeof *exchanges);
	if (!exchanges) exit(2);
	const BandForm form = factor(&s, f, exchanges);
	CHECK(form == BAND_PLAIN || form == BAND_EXCHANGED);
	if (dominant || b.below == 0) CHECK(form == BAND_PLAIN);
	check_solves(&s, form, f, exchanges);
	free(f);
	f = banded(&s);
	const bool narrow = b.below == b.above && b.below >= 1 && b.below <= 3 && b.n >= 16,
			   twisted = has_im ? band_twisted_complex(b, f) : band_twisted(b, f);
	if (twisted) {
		CHECK(narrow);
		check_solves(&s, BAND_TWISTED, f, exchanges);
	}
	/* Interchanges that make elements smaller are needed only for others. */
	if (narrow && dominant) CHECK(twisted);
	free(f);
	free(exchanges);
	free(s.a);
	free(s.rhs);
}

static void test_widths(void) {
	static const int64_t lengths[] = {1, 2, 3, 4, 7, 15, 16, 17, 18, 19, 20, 21, 40};
	uint64_t seed = 1;
	check_in("widths");
	for (int64_t below = 0; below <= 6; below++)
		for (int64_t above = 0; above <= 6; above++)
			for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
				for (int how = 0; how < 4; how++) {
					const Bandwidth b = {lengths[k], below, above};
					if (below < b.n && above < b.n) check_system(b, how & 1, how & 2, &seed);
				}
}

/* A singular matrix has factors with an infinity, whichever width it has. */
static void test_singular(void) {
	uint64_t seed = 7;
	check_in("singular");
	for (int64_t w = 0; w <= 4; w++)
		for (int has_im = 0; has_im < 2; has_im++) {
			System s = make((Bandwidth){20, w, w}, has_im, true, &seed);
			for (int64_t j = 0; j < 20; j++) s.a[13 * 20 + j] = 0;
			double *f = banded(&s), exchanges[20], x[40];
			const BandForm form = factor(&s, f, exchanges);
			for (int64_t i = 0; i < 20; i++) put(&s, x, i, s.rhs[i]);
			if (has_im) band_solve_complex(s.b, form, false, f, exchanges, x);
			else band_solve(s.b, form, false, f, exchanges, x);
			bool finite = true;
			for (int64_t i = 0; i < (has_im ? 40 : 20); i++) finite = finite && isfinite(x[i]);
			CHECK_MSG(!finite, "width %lld", (long long)w);
			free(f);
			free(s.a);
			free(s.rhs);
		}
}

/* A band of which the unknowns were renamed at random is as narrow again. */
static void test_order(void) {
	uint64_t seed = 3;
	check_in("order");
	Ctx *c = ctx_new(NULL);
	if (!CHECK(c)) return;
	for (int64_t n = 1; n <= 120; n += 17)
		for (int64_t w = 0; w <= 3 && w < n; w++) {
			int64_t name[128], start[129], row[128 * 7], order[128], inverse[128], m = 0;
			for (int64_t i = 0; i < n; i++) name[i] = i;
			for (int64_t i = n; i-- > 1;) {
				const int64_t k = (int64_t)draw(&seed, (uint64_t)i + 1), was = name[i];
				name[i] = name[k];
				name[k] = was;
			}
			int64_t of[128];
			for (int64_t i = 0; i < n; i++) of[name[i]] = i;
			for (int64_t j = 0; j < n; j++) {
				start[j] = m;
				for (int64_t i = 0; i < n; i++)
					if (llabs(of[i] - of[j]) <= w) row[m++] = i;
			}
			start[n] = m;
			if (!CHECK(band_order(c, n, start, row, order, inverse) == ST_OK)) continue;
			bool seen[128] = {false}, all = true;
			for (int64_t i = 0; i < n; i++) {
				all = all && order[i] >= 0 && order[i] < n && !seen[order[i]] &&
				      inverse[order[i]] == i;
				if (all) seen[order[i]] = true;
			}
			CHECK(all);
			const Bandwidth b = band_width(n, start, row, inverse);
			CHECK_MSG(b.n == n && b.below == b.above && b.below <= 2 * w,
			          "n %lld, width %lld: %lld", (long long)n, (long long)w, (long long)b.below);
		}
	ctx_free(c);
}

int main(void) {
	test_widths();
	test_singular();
	test_order();
	return check_end();
}
