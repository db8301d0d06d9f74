/* contract_panel.c - lanes over N: the function for one panel of a product.
 *
 * Needs: contract.h; contract.c has the method.
 *
 * Contract:
 * - A panel is a block of k by a few vectors of columns, for all rows of A.
 *   Each tile of rows is summed in registers, then stored or added to C.
 * - B's rows have whole vectors, except the last vector of a ragged panel.
 * - Rows past the last one repeat it.
 */
#include "backend/codegen/contract.h"
#include <stdio.h>

/* ---- the panel ----------------------------------------------------------- */

/* Rows of C by the columns of one panel, for one block of k. The panel is a
 * function of its own, with these arguments. */
typedef struct Panel {
	const Contract *g;
	uint32_t vectors, rows;
	bool ragged; /* the last vector may have lanes past the last column */
	bool quad;   /* up to four columns follow the vectors, see share_quads */
	/* k is HELD, and these rows of B stay in registers for all rows of A, see
	 * tile_held */
	bool held;
	LLVMValueRef c, c_row, c_col; /* C's first row at the panel's first column */
	LLVMValueRef a, a_row, a_k;
	LLVMValueRef b, b_step;
	LLVMValueRef m, k, left; /* left: columns from the panel's first to the last of all */
	LLVMValueRef add;
	LLVMValueRef panels; /* number of adjacent panels in one call */
	/* values of these columns, added to the finished sums; NULL: none */
	LLVMValueRef bias;
	LLVMValueRef shared[4]; /* quad: mask of the lanes from the r-th row's first on */
} Panel;

/* The mask of the last vector's lanes that are columns; NULL when all are. */
static LLVMValueRef last_mask(const Panel *p) {
	const Contract *g = p->g;
	return p->ragged ? emit_first_lanes(g->e, g->lanes,
	                                    minus(g, p->left, num(g, (p->vectors - 1) * g->lanes)))
	                 : NULL;
}

/* Rows that share one vector of quads. */
static uint32_t quad_rows(const Contract *g) { return g->lanes / QUAD; }

bool has_quad(const Contract *g, uint32_t rows, uint32_t vectors) {
	return g->columns && g->masks && g->e->m->target.vector_bytes == 64 &&
	       rows % quad_rows(g) == 0 && vectors < PACK_VECTORS &&
	       rows * vectors + rows / quad_rows(g) <= MOST_SUMS;
}

static uint32_t panel_sums(const Panel *p) {
	return p->rows * p->vectors + (p->quad ? p->rows / quad_rows(p->g) : 0);
}

/* Number of columns in the quad, at least one. */
static LLVMValueRef quad_columns(const Panel *p) {
	return minus(p->g, p->left, num(p->g, p->vectors * p->g->lanes));
}

/* Builds Panel.shared. The masks are read from memory, so that LLVM does not
 * know them: it turns blends by known masks into insertions and permutations,
 * which compete with multiplications for execution ports. Blends do not. */
static void quad_masks(Panel *p) {
	const Contract *g = p->g;
	LLVMBuilderRef b = g->e->b;
	LLVMTypeRef bits = LLVMIntTypeInContext(g->e->context, g->lanes),
				mask = LLVMVectorType(LLVMInt1TypeInContext(g->e->context), g->lanes);
	for (uint32_t r = 1; r < quad_rows(g); r++) {
		LLVMValueRef place = stack(g, 8);
		LLVMBuildStore(b, LLVMConstInt(bits, ((1u << g->lanes) - 1) & ~0u << r * QUAD, 0), place);
		LLVMValueRef x = LLVMBuildLoad2(b, bits, place, "");
		LLVMSetVolatile(x, 1);
		p->shared[r] = LLVMBuildBitCast(b, x, mask, "");
	}
}

/* Combines broadcast vectors of neighbouring rows into one vector, four lanes
 * for each row. */
static LLVMValueRef share_quads(const Panel *p, const LLVMValueRef *rows) {
	LLVMValueRef x = rows[0];
	for (uint32_t r = 1; r < quad_rows(p->g); r++) x = choose(p->g, p->shared[r], rows[r], x);
	return x;
}

/* Repeats four scalars once for each row that shares a vector. */
static LLVMValueRef repeat_quad(const Contract *g, LLVMValueRef x) {
	int order[16];
	for (uint32_t i = 0; i < g->lanes; i++) order[i] = (int)(i % QUAD);
	return emit_shuffle(g->e, x, x, g->lanes, order);
}

/* ---- sums of a tile ------------------------------------------------------ */

/* One step of k: sums += A's scalars times B's row. */
static void tile_step(const Panel *p, LLVMValueRef *const rows, LLVMValueRef ka, LLVMValueRef b,
                      LLVMValueRef mask, LLVMValueRef *sums) {
	const Contract *g = p->g;
	LLVMValueRef row[MOST_VECTORS], number[MOST_ROWS], quad = NULL;
	for (uint32_t v = 0; v < p->vectors; v++)
		row[v] =
			get(g, g->lanes, at_n(g, b, v * vector_bytes(g)), v + 1 == p->vectors ? mask : NULL);
	if (p->quad)
		quad = repeat_quad(g, get(g, QUAD, at_n(g, b, p->vectors * vector_bytes(g)),
		                          emit_first_lanes(g->e, QUAD, quad_columns(p))));
	for (uint32_t r = 0; r < p->rows; r++) {
		LLVMValueRef x = number[r] =
			emit_spread(g->e, get(g, 1, at(g, rows[r], ka), NULL), g->lanes);
		for (uint32_t v = 0; v < p->vectors; v++) {
			LLVMValueRef *s = &sums[r * p->vectors + v];
			*s = emit_muladd(g->e, x, row[v], *s);
		}
		if (!p->quad || (r + 1) % quad_rows(g)) continue;
		LLVMValueRef *s = &sums[p->rows * p->vectors + r / quad_rows(g)];
		*s = emit_muladd(g->e, share_quads(p, &number[r + 1 - quad_rows(g)]), quad, *s);
	}
}

/* sums += A B over steps first .. end-1 of k, `unroll` steps an iteration.
 * Advances *ka and *b. */
static void tile_sum(const Panel *p, LLVMValueRef *const rows, LLVMValueRef first, LLVMValueRef end,
                     uint32_t unroll, LLVMValueRef *ka, LLVMValueRef *b, LLVMValueRef *sums) {
	const Contract *g = p->g;
	uint32_t n = 2 + panel_sums(p);
	LLVMValueRef carried[2 + MOST_SUMS] = {*ka, *b}, next[2 + MOST_SUMS];
	/* Ragged panels have been packed, unless masks cost nothing or packing
	 * gains nothing. */
	LLVMValueRef mask =
		g->masks || p->vectors == 1 || p->vectors > PACK_VECTORS ? last_mask(p) : NULL;
	memcpy(carried + 2, sums, (n - 2) * sizeof *sums);
	CountedLoop k;
	loop_begin(g, &k, first, end, unroll, false, n, carried);
	memcpy(next, k.carried, n * sizeof *next);
	for (uint32_t i = 0; i < unroll; i++) {
		tile_step(p, rows, next[0], next[1], mask, next + 2);
		next[0] = plus(g, next[0], p->a_k);
		next[1] = at(g, next[1], p->b_step);
	}
	loop_end(g, &k, next);
	*ka = k.results[0];
	*b = k.results[1];
	memcpy(sums, k.results + 2, (n - 2) * sizeof *sums);
}

/* ---- storing a tile ------------------------------------------------------ */

/* Stores the first `left` mod lanes elements of a vector for each row, by
 * binary halving: half the vector where that bit of `left` is set, then half of
 * the remainder. */
static void store_halves(const Panel *p, LLVMValueRef *const vectors,
                         LLVMValueRef *const addresses) {
	const Contract *g = p->g;
	Emitter *e = g->e;
	LLVMValueRef x[MOST_ROWS + 1], low[MOST_ROWS + 1], high[MOST_ROWS + 1];
	memcpy(x, vectors, p->rows * sizeof *x);
	x[p->rows] = num(g, 0); /* bytes done */
	for (uint32_t half = g->lanes / 2; half; half /= 2) {
		EmitIf c;
		for (uint32_t r = 0; r < p->rows; r++) {
			low[r] = emit_part(e, x[r], 0, half);
			high[r] = emit_part(e, x[r], half, half);
		}
		low[p->rows] = x[p->rows];
		high[p->rows] = plus(g, x[p->rows], num(g, half * g->size));
		LLVMValueRef bit = LLVMBuildAnd(e->b, p->left, num(g, half), "");
		emit_if_begin(e, &c, LLVMBuildICmp(e->b, LLVMIntNE, bit, num(g, 0), ""), 0);
		for (uint32_t r = 0; r < p->rows; r++)
			put(g, low[r], at(g, addresses[r], x[p->rows]), NULL);
		emit_if_else(e, &c, p->rows + 1, high);
		emit_if_end(e, &c, low, x);
	}
}

/* Adds the bias to n sums of `lanes` columns each. `vectors` of them lie side
 * by side, beginning at vector `first`. This is the last operation on an
 * element, as if a later loop did it. */
static void tile_bias(const Panel *p, uint32_t first, uint32_t vectors, uint32_t lanes,
                      LLVMValueRef mask, uint32_t n, LLVMValueRef *sums) {
	const Contract *g = p->g;
	LLVMValueRef row[MOST_VECTORS], more[MOST_SUMS];
	if (!g->columns) return;
	EmitIf c;
	emit_if_begin(g->e, &c, is_null(g, p->bias), 0);
	emit_if_else(g->e, &c, n, sums);
	for (uint32_t v = 0; v < vectors; v++)
		row[v] = get(g, lanes, at_n(g, p->bias, (first + v) * vector_bytes(g)),
		             v + 1 == vectors ? mask : NULL);
	for (uint32_t s = 0; s < n; s++)
		more[s] = LLVMBuildFAdd(g->e->b, sums[s], row[s % vectors], "");
	emit_if_end(g->e, &c, more, sums);
}

/* Stores a tile's sums to C in whole vectors; the last one partly where the
 * panel is ragged. */
static void tile_store(const Panel *p, LLVMValueRef *const rows, LLVMValueRef *sums) {
	const Contract *g = p->g;
	Emitter *e = g->e;
	uint32_t nsums = p->rows * p->vectors, last = p->vectors - 1;
	LLVMValueRef old[MOST_SUMS], mask = last_mask(p);
	EmitIf c;
	emit_if_begin(e, &c, p->add, 0);
	for (uint32_t i = 0; i < nsums; i++) {
		uint32_t v = i % p->vectors;
		LLVMValueRef from = at_n(g, rows[i / p->vectors], v * vector_bytes(g));
		old[i] = LLVMBuildFAdd(e->b, get(g, g->lanes, from, v == last ? mask : NULL), sums[i], "");
	}
	emit_if_else(e, &c, nsums, old);
	emit_if_end(e, &c, sums, sums);
	tile_bias(p, 0, p->vectors, g->lanes, mask, nsums, sums);
	for (uint32_t i = 0; i < nsums; i++)
		if (i % p->vectors != last)
			put(g, sums[i], at_n(g, rows[i / p->vectors], i % p->vectors * vector_bytes(g)), NULL);
	LLVMValueRef ends[MOST_ROWS], at_last[MOST_ROWS];
	for (uint32_t r = 0; r < p->rows; r++) {
		ends[r] = sums[r * p->vectors + last];
		at_last[r] = at_n(g, rows[r], last * vector_bytes(g));
	}
	/* Masked stores are slow without mask registers; there a partial vector is
	 * stored in halves. */
	bool branch = p->ragged && !g->masks;
	if (branch) emit_if_begin(e, &c, less(g, p->left, num(g, p->vectors * g->lanes)), 0);
	if (branch) {
		store_halves(p, ends, at_last);
		emit_if_else(e, &c, 0, NULL);
	}
	for (uint32_t r = 0; r < p->rows; r++) put(g, ends[r], at_last[r], branch ? NULL : mask);
	if (branch) emit_if_end(e, &c, NULL, NULL);
}

/* Stores the quad of a tile: `columns` columns, 4 where NULL. `sums` are the
 * vectors of quads. */
static void quad_store_columns(const Panel *p, LLVMValueRef *const rows, LLVMValueRef *const sums,
                               LLVMValueRef columns) {
	const Contract *g = p->g;
	LLVMValueRef mask = columns ? emit_first_lanes(g->e, QUAD, columns) : NULL, part[MOST_ROWS],
				 old[MOST_ROWS], to[MOST_ROWS];
	EmitIf c;
	for (uint32_t r = 0; r < p->rows; r++) {
		part[r] = emit_part(g->e, sums[r / quad_rows(g)], r % quad_rows(g) * QUAD, QUAD);
		to[r] = at_n(g, rows[r], p->vectors * vector_bytes(g));
	}
	emit_if_begin(g->e, &c, p->add, 0);
	for (uint32_t r = 0; r < p->rows; r++)
		old[r] = LLVMBuildFAdd(g->e->b, get(g, QUAD, to[r], mask), part[r], "");
	emit_if_else(g->e, &c, p->rows, old);
	emit_if_end(g->e, &c, part, part);
	tile_bias(p, p->vectors, 1, QUAD, mask, p->rows, part);
	for (uint32_t r = 0; r < p->rows; r++) put(g, part[r], to[r], mask);
}

static void quad_store(const Panel *p, LLVMValueRef *const rows, LLVMValueRef *const sums) {
	const Contract *g = p->g;
	LLVMValueRef columns = quad_columns(p);
	EmitIf c;
	emit_if_begin(g->e, &c, less(g, columns, num(g, QUAD)), 0);
	quad_store_columns(p, rows, sums, columns);
	emit_if_else(g->e, &c, 0, NULL);
	quad_store_columns(p, rows, sums, NULL);
	emit_if_end(g->e, &c, NULL, NULL);
}

/* Stores a tile where C's columns are not neighbours: element by element,
 * through the stack. */
static void tile_scatter(const Panel *p, LLVMValueRef tile, LLVMValueRef to, LLVMValueRef nrows,
                         LLVMValueRef *const sums) {
	const Contract *g = p->g;
	Emitter *e = g->e;
	uint32_t wide = p->vectors * g->lanes;
	for (uint32_t i = 0; i < p->rows * p->vectors; i++)
		put(g, sums[i], at_n(g, tile, i * vector_bytes(g)), NULL);
	LLVMValueRef columns = smaller(g, p->left, num(g, wide));
	LLVMValueRef init[2] = {to, tile};
	CountedLoop r, j;
	loop_begin(g, &r, num(g, 0), nrows, 1, true, 2, init);
	loop_begin(g, &j, num(g, 0), columns, 1, true, 0, NULL);
	LLVMValueRef address = at(g, r.carried[0], times(g, j.index, p->c_col));
	LLVMValueRef x = get(g, 1, at(g, r.carried[1], times_n(g, j.index, g->size)), NULL), more;
	EmitIf c;
	emit_if_begin(e, &c, p->add, 0);
	more = LLVMBuildFAdd(e->b, get(g, 1, address, NULL), x, "");
	emit_if_else(e, &c, 1, &more);
	emit_if_end(e, &c, &x, &x);
	put(g, x, address, NULL);
	loop_end(g, &j, NULL);
	LLVMValueRef next[2] = {at(g, r.carried[0], p->c_row),
	                        at_n(g, r.carried[1], (int64_t)wide * g->size)};
	loop_end(g, &r, next);
}

/* ---- the rows of a panel ------------------------------------------------- */

/* Prefetches C's old values in a large product, before k runs. Tiles of small
 * products finish sooner than a prefetch. */
static void tile_ahead(const Panel *p, LLVMValueRef *const rows) {
	const Contract *g = p->g;
	Emitter *e = g->e;
	EmitIf c;
	emit_if_begin(e, &c, LLVMBuildAnd(e->b, p->add, less(g, num(g, K_BLOCK), p->k), ""), 0);
	for (uint32_t r = 0; r < p->rows; r++)
		for (uint32_t v = 0; v < p->vectors; v++) {
			/* for writing, high locality, data cache */
			LLVMValueRef args[4] = {at_n(g, rows[r], v * vector_bytes(g)), emit_i32(e, 1),
			                        emit_i32(e, 3), emit_i32(e, 1)};
			emit_intrinsic(e, "llvm.prefetch", 1, &e->ptr, 4, args);
		}
	emit_if_else(e, &c, 0, NULL);
	emit_if_end(e, &c, NULL, NULL);
}

/* Addresses of the tile's rows in A and C. Rows past the last one take its
 * address. */
static void tile_places(const Panel *p, LLVMValueRef row, const LLVMValueRef *first,
                        LLVMValueRef *from, LLVMValueRef *to) {
	const Contract *g = p->g;
	LLVMValueRef places[2 * MOST_ROWS], whole[2 * MOST_ROWS];
	places[0] = whole[0] = first[0];
	places[1] = whole[1] = first[1];
	EmitIf c;
	emit_if_begin(g->e, &c, less(g, p->m, plus(g, row, num(g, p->rows))), 0);
	for (uint32_t r = 1; r < p->rows; r++) {
		LLVMValueRef there = less(g, plus(g, row, num(g, r)), p->m);
		places[2 * r] = at(g, places[2 * r - 2], choose(g, there, p->a_row, num(g, 0)));
		places[2 * r + 1] = at(g, places[2 * r - 1], choose(g, there, p->c_row, num(g, 0)));
	}
	emit_if_else(g->e, &c, 2 * p->rows, places);
	for (uint32_t r = 1; r < p->rows; r++) {
		whole[2 * r] = at(g, whole[2 * r - 2], p->a_row);
		whole[2 * r + 1] = at(g, whole[2 * r - 1], p->c_row);
	}
	emit_if_end(g->e, &c, whole, places);
	for (uint32_t r = 0; r < p->rows; r++) {
		from[r] = places[2 * r];
		to[r] = places[2 * r + 1];
	}
}

/* Sums of all but the last k mod 4 steps, four steps an iteration; *begin is
 * set to where they end. It is used for tiles one vector wide when A's elements
 * of a row are contiguous: constant offsets then replace a pointer increment
 * for each multiply-add. At level 0 each iteration loads and stores all sums,
 * so all tiles use it. */
static void tile_fours(const Panel *p, LLVMValueRef *const rows, LLVMValueRef *begin,
                       LLVMValueRef *ka, LLVMValueRef *b, LLVMValueRef *sums) {
	const Contract *g = p->g;
	LLVMBuilderRef builder = g->e->b;
	uint32_t n = 3 + panel_sums(p);
	LLVMValueRef values[3 + MOST_SUMS] = {*begin, *ka, *b}, near[3 + MOST_SUMS],
							fours = LLVMBuildAnd(builder, p->k, num(g, -4), "");
	memcpy(values + 3, sums, (n - 3) * sizeof *sums);
	memcpy(near, values, n * sizeof *near);
	if (p->vectors > 1 && g->e->options->level) return;
	Panel q = *p;
	q.a_k = num(g, g->size);
	EmitIf c;
	emit_if_begin(g->e, &c, LLVMBuildICmp(builder, LLVMIntEQ, p->a_k, q.a_k, ""), 0);
	tile_sum(&q, rows, *begin, fours, 4, &near[1], &near[2], near + 3);
	near[0] = fours;
	emit_if_else(g->e, &c, n, near);
	if (g->e->options->level == 0) {
		tile_sum(p, rows, *begin, fours, 4, &values[1], &values[2], values + 3);
		values[0] = fours;
	}
	emit_if_end(g->e, &c, values, values);
	*begin = values[0];
	*ka = values[1];
	*b = values[2];
	memcpy(sums, values + 3, (n - 3) * sizeof *sums);
}

/* One vector of columns, with HELD rows of B in registers. Each multiply-add
 * has a sum and a row of B in registers and reads A's scalar as a broadcast
 * memory operand. No load of B remains. */
static void held_rows(const Panel *p, LLVMValueRef *held) {
	const Contract *g = p->g;
	LLVMValueRef b = p->b, mask = last_mask(p);
	for (uint32_t k = 0; k < HELD; k++, b = at(g, b, p->b_step))
		held[k] = get(g, g->lanes, b, mask);
}
static void tile_held(const Panel *p, LLVMValueRef *const rows, LLVMValueRef *const held,
                      LLVMValueRef *sums) {
	const Contract *g = p->g;
	for (uint32_t k = 0; k < HELD; k++) {
		for (uint32_t r = 0; r < p->rows; r++)
			sums[r] = emit_muladd(
				g->e,
				emit_spread(g->e, get(g, 1, at_n(g, rows[r], (int64_t)k * g->size), NULL),
			                g->lanes),
				held[k], sums[r]);
		/* Emits no instruction. Without it LLVM would order the code by rows,
		 * whose steps each wait for the one before. */
		LLVMBuildFence(g->e->b, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
	}
}

static void panel_rows(const Panel *p, LLVMValueRef tile) {
	const Contract *g = p->g;
	uint32_t nsums = panel_sums(p);
	LLVMValueRef init[2] = {p->a, p->c}, held[HELD];
	if (p->held) held_rows(p, held);
	CountedLoop i;
	loop_begin(g, &i, num(g, 0), p->m, p->rows, true, 2, init);
	LLVMValueRef from[MOST_ROWS], to[MOST_ROWS], sums[MOST_SUMS];
	tile_places(p, i.index, i.carried, from, to);
	if (nsums == MOST_SUMS) tile_ahead(p, to);
	for (uint32_t s = 0; s < nsums; s++) sums[s] = LLVMConstNull(emit_type(g->e, g->t, g->lanes));
	LLVMValueRef ka = num(g, 0), b = p->b, begin = num(g, 0);
	if (p->held) {
		tile_held(p, from, held, sums);
	} else {
		tile_fours(p, from, &begin, &ka, &b, sums);
		tile_sum(p, from, begin, p->k, 1, &ka, &b, sums);
	}
	if (g->columns) tile_store(p, to, sums);
	if (p->quad) quad_store(p, to, sums + p->rows * p->vectors);
	if (!g->columns)
		tile_scatter(p, tile, to[0], smaller(g, minus(g, p->m, i.index), num(g, p->rows)), sums);
	LLVMValueRef further[2] = {at(g, i.carried[0], times_n(g, p->a_row, p->rows)),
	                           at(g, i.carried[1], times_n(g, p->c_row, p->rows))};
	loop_end(g, &i, further);
}

static void panel_body(const Panel *first) {
	const Contract *g = first->g;
	Panel p = *first;
	LLVMValueRef tile = g->columns ? NULL : stack(g, (uint64_t)MOST_SUMS * g->lanes * g->size);
	if (p.quad) quad_masks(&p);
	LLVMValueRef init[4] = {p.b, p.c, p.left, p.bias}, wide = num(g, p.vectors * g->lanes);
	CountedLoop j;
	loop_begin(g, &j, num(g, 0), p.panels, 1, true, 4, init);
	p.b = j.carried[0];
	p.c = j.carried[1];
	p.left = j.carried[2];
	p.bias = j.carried[3];
	panel_rows(&p, tile);
	LLVMValueRef next[4] = {
		at_n(g, p.b, p.vectors * vector_bytes(g)), at(g, p.c, times(g, wide, p.c_col)),
		minus(g, p.left, wide),
		choose(g, is_null(g, p.bias), p.bias, at_n(g, p.bias, p.vectors * vector_bytes(g)))};
	loop_end(g, &j, next);
}

/* ---- the function and its inlined form ----------------------------------- */

/* The arguments are in the order of Panel's fields. */
LLVMTypeRef panel_type(Emitter *e) {
	LLVMTypeRef types[PANEL_ARGS] = {e->ptr, e->i64, e->i64, e->ptr, e->i64, e->i64, e->ptr,
	                                 e->i64, e->i64, e->i64, e->i64, e->i1,  e->i64, e->ptr};
	return LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, PANEL_ARGS, 0);
}

LLVMValueRef panel_function(const Contract *g, uint32_t vectors, bool ragged, PanelKind kind) {
	static const char *const kinds[] = {
		[PANEL_PLAIN] = "", [PANEL_QUAD] = ".quad", [PANEL_HELD] = ".held"};
	Emitter *e = g->e;
	char name[64];
	snprintf(name, sizeof name, "contract.%s.panel%ux%u%s%s%s", type_name(g), g->rows, vectors,
	         g->columns ? "" : ".scatter", ragged ? ".ragged" : "", kinds[kind]);
	LLVMValueRef function = emit_kernel(e, name, panel_type(e));
	if (function) return function;
	SavedPosition outer;
	function = inner_begin(e, name, panel_type(e), false, &outer);
	Panel p = {.g = g,
	           .vectors = vectors,
	           .rows = g->rows,
	           .ragged = ragged,
	           .quad = kind == PANEL_QUAD,
	           .held = kind == PANEL_HELD};
	LLVMValueRef *const args[PANEL_ARGS] = {&p.c,    &p.c_row, &p.c_col,  &p.a,   &p.a_row,
	                                        &p.a_k,  &p.b,     &p.b_step, &p.m,   &p.k,
	                                        &p.left, &p.add,   &p.panels, &p.bias};
	for (uint32_t i = 0; i < PANEL_ARGS; i++) *args[i] = LLVMGetParam(function, i);
	panel_body(&p);
	emit_helper_end(e, &outer, NULL);
	return function;
}

/* For tiny products the setup around a call costs a notable part of the time.
 * Inlined, it is hoisted out of the loop over the products. */
void held_inline(const Contract *g, LLVMValueRef *const args, EmitIf *c) {
	LLVMBuilderRef b = g->e->b;
	Panel p = {.g = g,
	           .vectors = 1,
	           .rows = MOST_ROWS,
	           .held = true,
	           .c = args[0],
	           .c_row = times_n(g, args[1], g->size),
	           .c_col = num(g, g->size),
	           .a = args[3],
	           .a_row = times_n(g, args[4], g->size),
	           .a_k = num(g, g->size),
	           .b = args[6],
	           .b_step = times_n(g, args[7], g->size),
	           .m = args[9],
	           .k = num(g, HELD),
	           .left = num(g, g->lanes),
	           .add = args[12],
	           .panels = num(g, 1),
	           .bias = LLVMConstNull(g->e->ptr)};
	LLVMValueRef fits =
		LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntEQ, args[11], num(g, HELD), ""),
	                 LLVMBuildICmp(b, LLVMIntEQ, args[10], num(g, g->lanes), ""), "");
	fits = LLVMBuildAnd(b, fits,
	                    LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntEQ, args[5], num(g, 1), ""),
	                                 less(g, num(g, 0), args[9]), ""),
	                    "");
	emit_if_begin(g->e, c, fits, 0);
	panel_body(&p);
	emit_if_else(g->e, c, 0, NULL);
}
