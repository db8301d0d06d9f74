/* half_complex.c - half-complex layout, eight values at a time.
 *
 * The shuffles are explicit, since compilers do not find them.
 *
 * Contract: half_complex.h. The same values on every machine.
 */
#include "backend/kernels/options.h"
#include "backend/kernels/half_complex.h"

typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t Lanes __attribute__((vector_size(64)));
#define AT(p) (*(const Eight *)(const void *)(p))
#define PUT(p, x) (*(Eight *)(void *)(p) = (x))
#define FIRSTS(x, y) SHUFFLE(Lanes, x, y, 0, 2, 4, 6, 8, 10, 12, 14)
#define SECONDS(x, y) SHUFFLE(Lanes, x, y, 1, 3, 5, 7, 9, 11, 13, 15)
#define SECONDS_BACKWARDS(x, y) SHUFFLE(Lanes, x, y, 15, 13, 11, 9, 7, 5, 3, 1)
#define BACKWARDS(x) SHUFFLE(Lanes, x, x, 7, 6, 5, 4, 3, 2, 1, 0)
#define LOWER_BOTH(x, y) SHUFFLE(Lanes, x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER_BOTH(x, y) SHUFFLE(Lanes, x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#define UPPER_BOTH_BACKWARDS(x, y) SHUFFLE(Lanes, x, y, 7, 15, 6, 14, 5, 13, 4, 12)
#define LOWER_BOTH_BACKWARDS(x, y) SHUFFLE(Lanes, x, y, 3, 11, 2, 10, 1, 9, 0, 8)

CLONES static void spread(int64_t n, const double *restrict z, double *restrict o) {
	int64_t k = 1;
	o[0] = z[0];
	for (; 2 * (k + 7) < n; k += 8) {
		const Eight x = AT(z + 2 * k), y = AT(z + 2 * k + 8);
		PUT(o + k, FIRSTS(x, y));
		PUT(o + n - k - 7, SECONDS_BACKWARDS(x, y));
	}
	for (; 2 * k < n; k++) {
		o[k] = z[2 * k];
		o[n - k] = z[2 * k + 1];
	}
	if (n % 2 == 0) o[n / 2] = z[n];
}

CLONES static void interleave_pair(int64_t n, const double *restrict x, const double *restrict y,
                                   double *restrict z) {
	const double by = 1.0 / (double)n;
	int64_t k = 1;
	z[0] = by * x[0];
	z[1] = by * y[0];
	for (; 2 * (k + 7) < n; k += 8) {
		const Eight back = AT(x + n - k - 7), other_back = AT(y + n - k - 7);
		const Eight a = by * AT(x + k), b = by * BACKWARDS(back), c = by * AT(y + k),
					d = by * BACKWARDS(other_back);
		const Eight re = a - d, im = b + c, mirror_re = a + d, mirror_im = c - b;
		PUT(z + 2 * k, LOWER_BOTH(re, im));
		PUT(z + 2 * k + 8, UPPER_BOTH(re, im));
		PUT(z + 2 * (n - k - 7), UPPER_BOTH_BACKWARDS(mirror_re, mirror_im));
		PUT(z + 2 * (n - k - 7) + 8, LOWER_BOTH_BACKWARDS(mirror_re, mirror_im));
	}
	for (; 2 * k < n; k++) {
		const double a = by * x[k], b = by * x[n - k], c = by * y[k], d = by * y[n - k];
		z[2 * k] = a - d;
		z[2 * k + 1] = b + c;
		z[2 * (n - k)] = a + d;
		z[2 * (n - k) + 1] = c - b;
	}
	if (n % 2) return;
	z[n] = by * x[n / 2];
	z[n + 1] = by * y[n / 2];
}

CLONES static void split(int64_t n, const double *restrict z, double *restrict a,
                         double *restrict b) {
	int64_t j = 0;
	for (; j + 8 <= n; j += 8) {
		const Eight x = AT(z + 2 * j), y = AT(z + 2 * j + 8);
		PUT(a + j, FIRSTS(x, y));
		PUT(b + j, SECONDS(x, y));
	}
	for (; j < n; j++) {
		a[j] = z[2 * j];
		b[j] = z[2 * j + 1];
	}
}

void half_complex_spread(int64_t n, const double *z, double *o) { spread(n, z, o); }
void half_complex_interleave_pair(int64_t n, const double *x, const double *y, double *z) {
	interleave_pair(n, x, y, z);
}
void half_complex_split(int64_t n, const double *z, double *a, double *b) { split(n, z, a, b); }
