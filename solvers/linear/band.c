/* band.c - LU factors of banded matrices, real and complex, and
 * bandwidth-reducing orders.
 *
 * Needs: band.h, band_kernels.h, band_twisted.h.
 *
 * Contract: as in band.h. Bands with one, two or three diagonals on each side
 * use code specialised for that width. There is also a version for processors
 * with fused multiply-add.
 */
#include "solvers/linear/band.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) &&                             \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(ATLED_ONE_MACHINE)
#define CLONES __attribute__((target_clones("default", "fma")))
#else
#define CLONES
#endif

#define NUMBER double
#define NAME(x) real_##x
#define SIZE(x) fabs(x)
#define RECIPROCAL(x) (1 / (x))
#include "solvers/linear/band_kernels.h"
#include "solvers/linear/band_twisted.h"
#undef NUMBER
#undef NAME
#undef SIZE
#undef RECIPROCAL

typedef double _Complex Complex;
INLINE Complex reciprocal(Complex z) {
	const double x = __real__ z, y = __imag__ z, d = 1 / (x * x + y * y);
	Complex w;
	__real__ w = x * d;
	__imag__ w = -y * d;
	return w;
}
#define NUMBER Complex
#define NAME(x) complex_##x
#define SIZE(x) (fabs(__real__(x)) + fabs(__imag__(x)))
#define RECIPROCAL(x) reciprocal(x)
#include "solvers/linear/band_kernels.h"
#include "solvers/linear/band_twisted.h"

/* ---- dispatch by width --------------------------------------------------- */

#define EACH_WIDTH(b, run)                                                                         \
	if ((b).below == 1 && (b).above == 1) run(1, 1);                                               \
	else if ((b).below == 2 && (b).above == 2) run(2, 2);                                          \
	else if ((b).below == 3 && (b).above == 3) run(3, 3);                                          \
	else run((b).below, (b).above)

/* Narrow, and long enough to have a middle. */
static bool may_be_twisted(Bandwidth b) {
	return b.below == b.above && b.below >= 1 && b.below <= 3 && b.n >= 16;
}

CLONES bool band_twisted(Bandwidth b, double *f) {
	if (!may_be_twisted(b)) return false;
	return b.below == 1   ? real_twisted_factor(b.n, 1, f)
	       : b.below == 2 ? real_twisted_factor(b.n, 2, f)
	                      : real_twisted_factor(b.n, 3, f);
}

CLONES bool band_twisted_complex(Bandwidth b, double *f) {
	Complex *g = (Complex *)(void *)f;
	if (!may_be_twisted(b)) return false;
	return b.below == 1   ? complex_twisted_factor(b.n, 1, g)
	       : b.below == 2 ? complex_twisted_factor(b.n, 2, g)
	                      : complex_twisted_factor(b.n, 3, g);
}

CLONES BandForm band_factor(Bandwidth b, double *f, double *exchanges) {
#define RUN(below, above)                                                                          \
	return real_factor(b.n, below, above, f, exchanges) ? BAND_EXCHANGED : BAND_PLAIN
	EACH_WIDTH(b, RUN);
#undef RUN
}

CLONES BandForm band_factor_complex(Bandwidth b, double *f, double *exchanges) {
#define RUN(below, above)                                                                          \
	return complex_factor(b.n, below, above, (Complex *)(void *)f, exchanges) ? BAND_EXCHANGED     \
	                                                                          : BAND_PLAIN
	EACH_WIDTH(b, RUN);
#undef RUN
}

CLONES void band_solve(Bandwidth b, BandForm form, bool transposed, const double *f,
                       const double *exchanges, double *x) {
	if (form == BAND_TWISTED) {
		if (transposed) real_twisted_transposed(b.n, b.below, f, x);
		else if (b.below == 1) real_twisted_solve(b.n, 1, f, x);
		else if (b.below == 2) real_twisted_solve(b.n, 2, f, x);
		else real_twisted_solve(b.n, 3, f, x);
		return;
	}
	if (transposed) {
		real_solve_transposed(b.n, b.below, b.above, f, exchanges, x);
		return;
	}
	if (form == BAND_EXCHANGED) {
		real_solve(b.n, b.below, b.above, true, f, exchanges, x);
		return;
	}
#define RUN(below, above) real_solve(b.n, below, above, false, f, exchanges, x)
	EACH_WIDTH(b, RUN);
#undef RUN
}

/* A^H x = b is solved as A^T conj(x) = conj(b). */
static void conjugate(int64_t n, double *x) {
	for (int64_t i = 0; i < n; i++) x[2 * i + 1] = -x[2 * i + 1];
}

CLONES void band_solve_complex(Bandwidth b, BandForm form, bool adjoint, const double *f,
                               const double *exchanges, double *x) {
	const Complex *g = (const Complex *)(const void *)f;
	Complex *z = (Complex *)(void *)x;
	if (adjoint) {
		conjugate(b.n, x);
		if (form == BAND_TWISTED) complex_twisted_transposed(b.n, b.below, g, z);
		else complex_solve_transposed(b.n, b.below, b.above, g, exchanges, z);
		conjugate(b.n, x);
		return;
	}
	if (form == BAND_TWISTED) {
		if (b.below == 1) complex_twisted_solve(b.n, 1, g, z);
		else if (b.below == 2) complex_twisted_solve(b.n, 2, g, z);
		else complex_twisted_solve(b.n, 3, g, z);
		return;
	}
	if (form == BAND_EXCHANGED) {
		complex_solve(b.n, b.below, b.above, true, g, exchanges, z);
		return;
	}
#define RUN(below, above) complex_solve(b.n, below, above, false, g, exchanges, z)
	EACH_WIDTH(b, RUN);
#undef RUN
}

/* ---- bandwidth-reducing order -------------------------------------------- */

Bandwidth band_width(int64_t n, const int64_t *start, const int64_t *row, const int64_t *inverse) {
	Bandwidth b = {.n = n};
	for (int64_t j = 0; j < n; j++)
		for (int64_t k = start[j]; k < start[j + 1]; k++) {
			const int64_t off = inverse ? inverse[row[k]] - inverse[j] : row[k] - j;
			if (off > b.below) b.below = off;
			if (-off > b.above) b.above = -off;
		}
	return b;
}

/* The graph of the pattern and its transpose, without self-loops. */
typedef struct Graph {
	int64_t n, *start, *to;
	size_t bytes;
} Graph;

static Status graph_of(Ctx *c, int64_t n, const int64_t *start, const int64_t *row, Graph *g) {
	const int64_t nnz = start[n];
	*g = (Graph){.n = n, .bytes = (size_t)(n + 2 + 2 * nnz) * sizeof(int64_t)};
	if (!(g->start = heap_alloc(c, g->bytes))) return ST_NOMEM;
	g->to = g->start + n + 2;
	memset(g->start, 0, (size_t)(n + 2) * sizeof *g->start);
	for (int64_t j = 0; j < n; j++)
		for (int64_t k = start[j]; k < start[j + 1]; k++)
			if (row[k] != j) g->start[j + 2]++, g->start[row[k] + 2]++;
	for (int64_t i = 2; i <= n + 1; i++) g->start[i] += g->start[i - 1];
	/* an edge present in both directions is stored twice, which does no harm */
	for (int64_t j = 0; j < n; j++)
		for (int64_t k = start[j]; k < start[j + 1]; k++)
			if (row[k] != j) {
				g->to[g->start[j + 1]++] = row[k];
				g->to[g->start[row[k] + 1]++] = j;
			}
	return ST_OK;
}

static int64_t degree(const Graph *g, int64_t i) { return g->start[i + 1] - g->start[i]; }

/* Breadth-first search from `root`: the reachable vertices in order of
 * distance, siblings by degree, into out. level[]: -1 not seen. Returns their
 * number; *depth: number of the last level. */
static int64_t by_levels(const Graph *g, int64_t root, int64_t *level, int64_t *out,
                         int64_t *depth) {
	int64_t n = 1;
	out[0] = root;
	level[root] = 0;
	for (int64_t k = 0; k < n; k++) {
		const int64_t from = n;
		for (int64_t e = g->start[out[k]]; e < g->start[out[k] + 1]; e++) {
			const int64_t i = g->to[e];
			if (level[i] >= 0) continue;
			level[i] = level[out[k]] + 1;
			int64_t at = n++;
			for (; at > from && degree(g, out[at - 1]) > degree(g, i); at--) out[at] = out[at - 1];
			out[at] = i;
		}
	}
	*depth = level[out[n - 1]];
	return n;
}

Status band_order(Ctx *c, int64_t n, const int64_t *start, const int64_t *row, int64_t *order,
                  int64_t *inverse) {
	Graph g;
	Status st = graph_of(c, n, start, row, &g);
	if (st != ST_OK) return st;
	int64_t *level = inverse, done = 0;
	for (int64_t i = 0; i < n; i++) level[i] = -1;
	for (int64_t seed = 0; seed < n; seed++) {
		if (level[seed] >= 0) continue;
		int64_t root = seed, depth = -1, found, count;
		for (;;) { /* restart from a far vertex while the depth grows */
			count = by_levels(&g, root, level, order + done, &found);
			if (found <= depth) break;
			depth = found;
			int64_t far = order[done + count - 1];
			for (int64_t k = count; k-- > 0 && level[order[done + k]] == found;)
				if (degree(&g, order[done + k]) < degree(&g, far)) far = order[done + k];
			for (int64_t k = 0; k < count; k++) level[order[done + k]] = -1;
			root = far;
		}
		done += count;
	}
	for (int64_t i = 0; i < n / 2; i++) {
		const int64_t x = order[i];
		order[i] = order[n - 1 - i];
		order[n - 1 - i] = x;
	}
	for (int64_t i = 0; i < n; i++) inverse[order[i]] = i;
	heap_free(c, g.start, g.bytes);
	return ST_OK;
}
