/* heat.c - C reference: explicit heat equation with a five-point stencil.
 *
 * Method:
 * - `plain` makes one pass over the grid for each step, as the program does.
 * - `tiled` uses time tiling: LEVELS steps at a time over strips of columns
 *   whose rows stay in L1. The halos between strips and threads are computed
 *   twice.
 * - Rows are padded, because a row length of a large power of two causes cache
 *   conflicts.
 *
 * Needs: limit.h, vec.h.
 */
#include "limit.h"
#include "vec.h"

#define MARGIN 16 /* elements before and after each row; at least LEVELS, and a multiple of VD */
#define LEVELS 8
#define STRIP 128
#define WIDE (STRIP + 2 * LEVELS)
#define RING 4
#define FACTOR 0.2

typedef double Line[WIDE + 2 * MARGIN];
typedef struct Grid {
	double *a, *b;           /* the first element of the first row; rows are `stride` apart */
	Line (*ring[256])[RING]; /* of each thread: the latest rows of each level */
	int64_t n, stride, steps;
} Grid;

static double *rows(int64_t n, int64_t stride) {
	return (double *)limit_memory((size_t)(n * stride + MARGIN) * 8) + MARGIN;
}

static void heat_setup(Case *c) {
	c->lengths[0] = c->n;
	c->in[0] = limit_array(REAL64, c->n, c->n, 0);
	limit_fill(&c->in[0], 40, 0, 1);
	c->in[1] = limit_array(WHOLE64, 1, 0, 0);
	c->in[1].rank = 0;
	*(int64_t *)c->in[1].data = c->n == c->row->full ? c->row->variant : 20;
	c->out[0] = limit_array(REAL64, c->n, c->n, 0);
	c->ins = 2, c->outs = 1;
	Grid *g = c->own = limit_memory(sizeof(Grid));
	g->n = c->n, g->stride = c->n + 2 * MARGIN, g->steps = *(int64_t *)c->in[1].data;
	g->a = rows(g->n, g->stride), g->b = rows(g->n, g->stride);
	for (int k = 0; k < c->threads; k++)
		g->ring[k] = limit_memory(sizeof(Line) * RING * (LEVELS + 1));
	if (c->n % STRIP) limit_stop("heat: the grid is not an integer of strips");
}

#if VD == 2
#define LAST_AND_FIRST 1, 2
#define SECOND_ON 1, 2
#elif VD == 4
#define LAST_AND_FIRST 3, 4, 5, 6
#define SECOND_ON 1, 2, 3, 4
#else
#define LAST_AND_FIRST 7, 8, 9, 10, 11, 12, 13, 14
#define SECOND_ON 1, 2, 3, 4, 5, 6, 7, 8
#endif

/* Computes columns from .. to - 1 (multiples of VD) of one row of the next
 * step. Neighbours come from shuffles, because loads across cache lines are
 * slow. */
INLINE void one_row(double *restrict out, const double *up, const double *mid, const double *down,
                    int64_t from, int64_t to) {
	vd before = vd_load(mid + from - VD), here = vd_load(mid + from);
	UNROLL_4 for (int64_t j = from; j < to; j += VD) {
		vd behind = vd_load(mid + j + VD);
		vd left = __builtin_shufflevector(before, here, LAST_AND_FIRST),
		   right = __builtin_shufflevector(here, behind, SECOND_ON);
		vd_store(out + j, FACTOR * ((vd_load(up + j) + vd_load(down + j)) + (left + right)) +
		                      (1 - 4 * FACTOR) * here);
		before = here, here = behind;
	}
}

static void copy_part(const Grid *g, const double *from, int64_t from_stride, double *to,
                      int64_t to_stride, int part, int parts) {
	int64_t first, last;
	limit_share(g->n, 1, part, parts, &first, &last);
	for (int64_t i = first; i < last; i++)
		memcpy(to + i * to_stride, from + i * from_stride, (size_t)g->n * 8);
}

static void plain_part(int part, int parts, void *ud) {
	Case *c = ud;
	const Grid *g = c->own;
	double *a = g->a, *b = g->b;
	copy_part(g, c->in[0].data, g->n, a, g->stride, part, parts);
	copy_part(g, c->in[0].data, g->n, b, g->stride, part, parts);
	int64_t from, to;
	limit_share(g->n - 2, 1, part, parts, &from, &to);
	for (int64_t s = 0; s < g->steps; s++) {
		limit_barrier(parts);
		for (int64_t i = from + 1; i <= to; i++) {
			double *out = b + i * g->stride;
			const double *mid = a + i * g->stride;
			one_row(out, mid - g->stride, mid, mid + g->stride, 0, g->n);
			out[0] = mid[0], out[g->n - 1] = mid[g->n - 1];
		}
		double *t = a;
		a = b, b = t;
	}
	limit_barrier(parts);
	copy_part(g, a, g->stride, c->out[0].data, g->n, part, parts);
}
static void plain_run(Case *c) { limit_parallel(c->threads, plain_part, c); }

/* Computes `levels` steps from a to b, for the rows from .. to - 1 of b, strip
 * by strip. Level t is one row after level t - 1. */
static void tiles(const Grid *g, const double *a, double *b, Line (*ring)[RING], int levels,
                  int64_t from, int64_t to) {
	int64_t n = g->n, stride = g->stride;
	for (int64_t strip = 0; strip < n; strip += STRIP) {
		/* indices count from the strip's left margin */
		const double *a0 = a + strip - LEVELS;
		double *b0 = b + strip - LEVELS;
#define AT(t, i)                                                                                   \
	((t) == 0 || (i) == 0 || (i) == n - 1 ? a0 + (i)*stride : &ring[t][(i) % RING][MARGIN])
		for (int64_t s = from - levels + 1; s < to + levels; s++)
			for (int t = 1; t <= levels; t++) {
				int64_t i = s - t + 1, low = from - (levels - t), high = to + (levels - t);
				if (i < low || i >= high || i < 1 || i > n - 2) continue;
				const double *mid = AT(t - 1, i);
				double *out = t == levels ? b0 + i * stride : &ring[t][i % RING][MARGIN];
				if (t == levels)
					one_row(out, AT(t - 1, i - 1), mid, AT(t - 1, i + 1), LEVELS, LEVELS + STRIP);
				else one_row(out, AT(t - 1, i - 1), mid, AT(t - 1, i + 1), 0, WIDE);
				if (strip == 0) out[LEVELS] = mid[LEVELS];
				if (strip + STRIP == n) out[LEVELS + STRIP - 1] = mid[LEVELS + STRIP - 1];
			}
#undef AT
	}
}

static void tiled_part(int part, int parts, void *ud) {
	Case *c = ud;
	const Grid *g = c->own;
	double *a = g->a, *b = g->b;
	copy_part(g, c->in[0].data, g->n, a, g->stride, part, parts);
	copy_part(g, c->in[0].data, g->n, b, g->stride, part, parts);
	int64_t from, to;
	limit_share(g->n - 2, 1, part, parts, &from, &to);
	for (int64_t s = 0; s < g->steps; s += LEVELS) {
		int levels = g->steps - s < LEVELS ? (int)(g->steps - s) : LEVELS;
		limit_barrier(parts);
		tiles(g, a, b, g->ring[part], levels, from + 1, to + 1);
		double *t = a;
		a = b, b = t;
	}
	limit_barrier(parts);
	copy_part(g, a, g->stride, c->out[0].data, g->n, part, parts);
}
static void tiled_run(Case *c) { limit_parallel(c->threads, tiled_part, c); }

const Row heat_rows[] = {
	{.name = "heat",
     .title = "2-D heat, 1024 x 1024, 1000 steps",
     .program = "heat",
     .function = "heat",
     .type = "(f64[n, n], i64) -> f64[n, n]",
     .goal = 1.15,
     .tolerance = 1e-12,
     .full = 1024,
     .quick = 128,
     .variant = 1000,
     .setup = heat_setup,
     .run = plain_run,
     .other_name = "C, 8 steps at once",
     .other = tiled_run},
	{0},
};
