/* contract_dots.c - lanes over K: a product as dot products of rows and
 * columns.
 *
 * Needs: contract.h; contract.c has the method.
 *
 * Contract:
 * - A's and B's elements along k are contiguous.
 * - An element of C is a vector of partial sums over all products of the
 *   instruction. It is reduced once for a block of k, in a fixed order.
 */
#include "backend/codegen/contract.h"

enum {
	DOTS_BLOCK_BYTES = 2048, /* k block of a row of A or a column of B */
	/* Rows of A that stay in L1 while B passes from L2: two tiles of four.
	 * Tiles of five rows use ten. */
	DOTS_BAND = 8
};

/* Adds the halves of x until `lanes` lanes are left. */
static LLVMValueRef fold_to(const Contract *g, LLVMValueRef x, uint32_t lanes) {
	for (uint32_t n = emit_lanes(x); n > lanes; n /= 2)
		x = LLVMBuildFAdd(g->e->b, emit_part(g->e, x, 0, n / 2), emit_part(g->e, x, n / 2, n / 2),
		                  "");
	return x;
}

/* For each 16 bytes: interleaves units of `unit` lanes of the first halves of x
 * and y, does the same with the second halves, and adds both. */
static LLVMValueRef zip_add(const Contract *g, LLVMValueRef x, LLVMValueRef y, uint32_t unit) {
	int low[64], high[64];
	uint32_t n = g->lanes, group = 16 / g->size;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t base = i - i % group, which = i % group / unit;
		low[i] = (int)(base + which / 2 * unit + i % unit + which % 2 * n);
		high[i] = low[i] + (int)(group / 2);
	}
	return LLVMBuildFAdd(g->e->b, emit_shuffle(g->e, x, y, n, low),
	                     emit_shuffle(g->e, x, y, n, high), "");
}

/* Reduces four vectors to their totals, with the same order of additions for
 * each. */
static void total_four(const Contract *g, LLVMValueRef *const x, LLVMValueRef *totals) {
	Emitter *e = g->e;
	if (g->lanes == 1) {
		memcpy(totals, x, 4 * sizeof *totals);
		return;
	}
	LLVMValueRef p = zip_add(g, x[0], x[1], 1), q = zip_add(g, x[2], x[3], 1), all[2];
	if (g->size == 4) all[0] = fold_to(g, zip_add(g, p, q, 2), 4);
	else {
		all[0] = p = fold_to(g, p, 4);
		all[1] = q = fold_to(g, q, 4);
		static const int low[] = {0, 1, 4, 5}, high[] = {2, 3, 6, 7};
		if (emit_lanes(p) == 4)
			all[0] = LLVMBuildFAdd(e->b, emit_shuffle(e, p, q, 4, low),
			                       emit_shuffle(e, p, q, 4, high), "");
	}
	uint32_t n = emit_lanes(all[0]);
	for (uint32_t i = 0; i < 4; i++)
		totals[i] = LLVMBuildExtractElement(e->b, all[i / n], emit_i32(e, (int32_t)(i % n)), "");
}

/* A tile of `rows` rows of A by `columns` columns of B, for the block of k that
 * begins at `kb`. */
typedef struct DotTile {
	uint32_t rows, columns;
	/* start of each row or column in the block: bytes from the first element of
	 * A or B */
	LLVMValueRef from_a[MOST_ROWS], from_b[MOST_ROWS];
	/* the same as addresses, in the current product */
	LLVMValueRef a[MOST_ROWS], b[MOST_ROWS];
	LLVMValueRef kb, kc, add;
} DotTile;

static void lanes_over_k_step(const Contract *g, const DotTile *d, LLVMValueRef k,
                              LLVMValueRef mask, LLVMValueRef *sums) {
	LLVMValueRef row[MOST_ROWS], offset = times_n(g, k, g->size);
	for (uint32_t r = 0; r < d->rows; r++) row[r] = get(g, g->lanes, at(g, d->a[r], offset), mask);
	for (uint32_t s = 0; s < d->columns; s++) {
		LLVMValueRef column = get(g, g->lanes, at(g, d->b[s], offset), mask);
		for (uint32_t r = 0; r < d->rows; r++)
			sums[r * d->columns + s] = emit_muladd(g->e, row[r], column, sums[r * d->columns + s]);
	}
}

/* Sums whole vectors of k from first to end-1, `unroll` vectors an
 * iteration. */
static void lanes_over_k_sum(const Contract *g, const DotTile *d, LLVMValueRef first,
                             LLVMValueRef end, uint32_t unroll, LLVMValueRef *sums) {
	uint32_t n = d->rows * d->columns;
	LLVMValueRef next[MOST_SUMS];
	CountedLoop k;
	loop_begin(g, &k, first, end, (int64_t)unroll * g->lanes, false, n, sums);
	memcpy(next, k.carried, n * sizeof *next);
	for (uint32_t i = 0; i < unroll; i++)
		lanes_over_k_step(g, d, plus(g, k.index, num(g, i * g->lanes)), NULL, next);
	loop_end(g, &k, next);
	memcpy(sums, k.results, n * sizeof *sums);
}

/* sums += the tile of one product. */
static void lanes_over_k_product(const Contract *g, const DotTile *d, LLVMValueRef *sums) {
	Emitter *e = g->e;
	uint32_t n = d->rows * d->columns;
	LLVMValueRef more[MOST_SUMS];
	LLVMValueRef whole = LLVMBuildAnd(e->b, d->kc, num(g, -(int64_t)g->lanes), "");
	LLVMValueRef begin = num(g, 0);
	/* Four vectors an iteration, for the reason given at tile_fours. */
	if (e->options->level == 0) {
		LLVMValueRef fours = LLVMBuildAnd(e->b, whole, num(g, -4 * (int64_t)g->lanes), "");
		lanes_over_k_sum(g, d, begin, fours, 4, sums);
		begin = fours;
	}
	lanes_over_k_sum(g, d, begin, whole, 1, sums);
	if (g->lanes == 1) return;
	EmitIf c;
	LLVMValueRef left = minus(g, d->kc, whole);
	emit_if_begin(e, &c, less(g, num(g, 0), left), 0);
	memcpy(more, sums, n * sizeof *more);
	lanes_over_k_step(g, d, whole, emit_first_lanes(e, g->lanes, left), more);
	emit_if_else(e, &c, n, more);
	emit_if_end(e, &c, sums, sums);
}

/* Computes the tile at rows i.. and columns j.. of C. Rows and columns past the
 * end repeat the last one. */
static void lanes_over_k_tile(const Contract *g, DotTile *d, LLVMValueRef i, LLVMValueRef j) {
	Emitter *e = g->e;
	uint32_t n = d->rows * d->columns;
	LLVMValueRef to[MOST_ROWS], across[MOST_ROWS], sums[MOST_SUMS], more[MOST_SUMS],
		totals[MOST_SUMS];
	LLVMValueRef block = times_n(g, d->kb, g->size);
	d->from_a[0] = plus(g, times(g, i, g->a_row), block);
	d->from_b[0] = plus(g, times(g, j, g->b_col), block);
	to[0] = at(g, g->c, times(g, i, g->c_row));
	across[0] = times(g, j, g->c_col);
	for (uint32_t r = 1; r < d->rows; r++) {
		LLVMValueRef there = less(g, plus(g, i, num(g, r)), g->m);
		d->from_a[r] = plus(g, d->from_a[r - 1], choose(g, there, g->a_row, num(g, 0)));
		to[r] = at(g, to[r - 1], choose(g, there, g->c_row, num(g, 0)));
	}
	for (uint32_t s = 1; s < d->columns; s++) {
		LLVMValueRef there = less(g, plus(g, j, num(g, s)), g->n);
		d->from_b[s] = plus(g, d->from_b[s - 1], choose(g, there, g->b_col, num(g, 0)));
		across[s] = plus(g, across[s - 1], choose(g, there, g->c_col, num(g, 0)));
	}
	for (uint32_t s = 0; s < n; s++) sums[s] = LLVMConstNull(emit_type(e, g->t, g->lanes));
	CountedLoop pair;
	loop_begin(g, &pair, num(g, 0), g->npairs, 1, true, n, sums);
	LLVMValueRef two = at(g, g->pairs, times_n(g, pair.index, 16)), a_in = at(g, two, g->a_in_pair),
				 b_in = at(g, two, minus(g, num(g, 8), g->a_in_pair));
	LLVMValueRef a = LLVMBuildLoad2(e->b, e->ptr, a_in, ""),
				 b = LLVMBuildLoad2(e->b, e->ptr, b_in, "");
	for (uint32_t r = 0; r < d->rows; r++) d->a[r] = at(g, a, d->from_a[r]);
	for (uint32_t s = 0; s < d->columns; s++) d->b[s] = at(g, b, d->from_b[s]);
	memcpy(more, pair.carried, n * sizeof *more);
	lanes_over_k_product(g, d, more);
	loop_end(g, &pair, more);
	memcpy(sums, pair.results, n * sizeof *sums);
	EmitIf c;
	for (uint32_t s = n; s % 4; s++) sums[s] = LLVMConstNull(emit_type(g->e, g->t, g->lanes));
	for (uint32_t s = 0; s < n; s += 4) total_four(g, sums + s, totals + s);
	emit_if_begin(e, &c, d->add, 0);
	for (uint32_t s = 0; s < n; s++)
		more[s] =
			LLVMBuildFAdd(e->b, get(g, 1, at(g, to[s / d->columns], across[s % d->columns]), NULL),
		                  totals[s], "");
	emit_if_else(e, &c, n, more);
	emit_if_end(e, &c, totals, totals);
	for (uint32_t s = 0; s < n; s++)
		put(g, totals[s], at(g, to[s / d->columns], across[s % d->columns]), NULL);
}

static void swap_where(const Contract *g, LLVMValueRef c, LLVMValueRef *x, LLVMValueRef *y) {
	LLVMValueRef first = choose(g, c, *y, *x);
	*y = choose(g, c, *x, *y);
	*x = first;
}

void lanes_over_k_form(Contract *g) {
	Emitter *e = g->e;
	/* The longer side becomes the rows, of which a tile has more. The
	 * transposed product has the same sums. */
	LLVMValueRef swap = less(g, g->m, g->n);
	g->a_in_pair = choose(g, swap, num(g, 8), num(g, 0));
	swap_where(g, swap, &g->a_row, &g->b_col);
	swap_where(g, swap, &g->c_row, &g->c_col);
	swap_where(g, swap, &g->m, &g->n);
	int64_t block = DOTS_BLOCK_BYTES / g->size;
	DotTile d = {.rows = g->rows, .columns = g->width};
	CountedLoop k, band, i, j;
	loop_begin(g, &k, num(g, 0), g->k, block, true, 0, NULL);
	d.kb = k.index;
	d.kc = smaller(g, minus(g, g->k, k.index), num(g, block));
	d.add = LLVMBuildOr(e->b, g->add, less(g, num(g, 0), k.index), "");
	/* As many rows of A as stay in L1; all of B passes them. */
	const int64_t rows = g->rows == 5 ? 10 : DOTS_BAND;
	loop_begin(g, &band, num(g, 0), g->m, rows, false, 0, NULL);
	LLVMValueRef end = smaller(g, g->m, plus(g, band.index, num(g, rows)));
	loop_begin(g, &j, num(g, 0), g->n, g->width, false, 0, NULL);
	loop_begin(g, &i, band.index, end, g->rows, true, 0, NULL);
	lanes_over_k_tile(g, &d, i.index, j.index);
	loop_end(g, &i, NULL);
	loop_end(g, &j, NULL);
	loop_end(g, &band, NULL);
	loop_end(g, &k, NULL);
}
