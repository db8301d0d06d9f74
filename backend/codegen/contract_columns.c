/* contract_columns.c - lanes over N: which panels a product has, and the loops
 * over its blocks and panels.
 *
 * Needs: contract.h; contract.c has the method.
 *
 * Contract:
 * - The panels cover all columns once. Their choice changes no bit of a result.
 * - A panel of B is packed where enough rows of A pass it, where B's columns
 *   are not neighbours, and where B is transposed.
 */
#include "backend/codegen/contract.h"
#include <stdio.h>

enum {
	/* Unit of the rows of A that pass one panel before the next, see row_block.
	 * Tile heights divide it. */
	ROW_BLOCK = 48,
	/* Rows of A from which a panel of B is packed. Packing costs about as much
	 * as three rows. */
	PACK_ROWS = 48,
	/* If B with the gaps between its rows fits in L1, packing gains nothing. */
	NEAR_BYTES = 32768,
	FIVES_WIDE = 4
};

/* ---- choice of panels ---------------------------------------------------- */

/* Vectors of a wide panel, by default. */
static uint32_t wide_panel(const Contract *g) {
	return g->fives && g->columns && g->e->m->target.registers >= 32 ? FIVES_WIDE : 2;
}

/* Rows of a tile: the sums, a row of B and one scalar of A must fit into the
 * vector registers, and the pointers to the rows into the general ones. */
static uint32_t tile_rows(const Contract *g) {
	const KTarget *t = &g->e->m->target;
	bool many = t->registers >= 32;
	const bool fives = g->fives && g->width == wide_panel(g);
	uint32_t rows = fives && t->has_fma ? 5
	                : g->width > 3      ? (many ? 4 : 2)
	                : many              ? 8
	                : g->width == 1     ? 8
	                : !t->has_fma       ? 3
	                                    : 4;
	return g->rows && g->rows < rows ? g->rows : rows;
}

/* Chooses the panels for n columns and m rows; -1: not known. */
static void choose_panels(Contract *g, int64_t m, int64_t n, bool padded) {
	bool whole = padded || g->lanes == 1 || !g->columns;
	int64_t v = n > 0 ? (n + g->lanes - 1) / g->lanes : 0;
	g->rows = m > 0 && m < 4 ? (uint32_t)m : 0;
	g->width = wide_panel(g);
	g->ragged = !whole && (n <= 0 || n % g->lanes);
	g->rest = g->columns && (v == 0 || v % g->width);
	if (v == 1) g->width = 1, g->rest = false;
	else if (v == 2) g->width = 2, g->rest = false;
	else if (v == 3 || v == 9) g->width = 3, g->rest = false;
	else if (v == 5) g->width = 5, g->rest = false;
	/* One row has few sums: the panel is made as wide as possible. */
	for (uint32_t w = MOST_VECTORS; g->columns && !g->transposed && m == 1 && v && w > g->width;
	     w--)
		if (v % w == 0) g->width = w, g->rest = false;
	g->rows = tile_rows(g);
}

/* May panels be four vectors wide, where that leaves no columns? This is for
 * few rows, which read B without packing: 4 x 4 tiles read B in longer
 * contiguous runs than 8 x 2 tiles, which matters when B comes from the
 * last-level cache. */
static bool reads_in_fours(const Contract *g) {
	return g->columns && !g->transposed && g->masks && g->e->m->target.registers >= 32 &&
	       !g->fives && g->width == 2 && g->rest;
}

/* The function for panels of one vector. At run time, if k is HELD and A's
 * elements of a row are contiguous, it is the one that keeps B in registers. */
static LLVMValueRef single_panel(const Contract *g, bool ragged, LLVMValueRef k, LLVMValueRef a_k) {
	LLVMValueRef plain = panel_function(g, 1, ragged, PANEL_PLAIN);
	const int64_t length = known(k), step = known(a_k);
	if (!g->columns || !g->masks || g->e->m->target.registers < 32 || g->rows < 8 ||
	    (length >= 0 && length != HELD) || (step >= 0 && step != 1))
		return plain;
	LLVMValueRef held =
		LLVMBuildAnd(g->e->b, LLVMBuildICmp(g->e->b, LLVMIntEQ, k, num(g, HELD), ""),
	                 LLVMBuildICmp(g->e->b, LLVMIntEQ, a_k, num(g, 1), ""), "");
	return choose(g, held, panel_function(g, 1, ragged, PANEL_HELD), plain);
}

Widths choose_widths(Contract *g, LLVMValueRef m, LLVMValueRef n, LLVMValueRef k, LLVMValueRef a_k,
                     bool padded) {
	Emitter *e = g->e;
	const int64_t rows = known(m);
	choose_panels(g, rows, known(n), padded);
	/* Without narrow panels, wide ones take all columns; otherwise as many
	 * whole ones as fit. */
	int64_t wide = (int64_t)g->width * g->lanes;
	const bool ragged = g->ragged && !g->rest;
	LLVMValueRef none = LLVMConstNull(e->ptr);
	Widths w = {.wide = num(g, wide),
	            .slack = num(g, g->rest ? 0 : wide - 1),
	            .narrow_panel = none,
	            .wide_quad = none,
	            .narrow_quad = none};
	w.wide_panel = g->width == 1 ? single_panel(g, ragged, k, a_k)
	                             : panel_function(g, g->width, ragged, PANEL_PLAIN);
	if (g->rest && g->ragged && has_quad(g, g->rows, g->width))
		w.wide_quad = panel_function(g, g->width, false, PANEL_QUAD);
	if (g->rest) {
		/* as many sums over fewer columns */
		Contract narrow = *g;
		narrow.width = 1;
		narrow.rows = rows > 0 && rows < 4 ? (uint32_t)rows : 0;
		narrow.rows = tile_rows(&narrow);
		w.narrow_panel = single_panel(&narrow, g->ragged, k, a_k);
		if (g->ragged && has_quad(&narrow, narrow.rows, 1))
			w.narrow_quad = panel_function(&narrow, 1, false, PANEL_QUAD);
	}
	if (reads_in_fours(g)) {
		Contract four = *g;
		four.width = 4;
		four.rows = rows > 0 && rows < 4 ? (uint32_t)rows : 0;
		four.rows = tile_rows(&four);
		const int64_t columns = 4 * (int64_t)g->lanes;
		LLVMValueRef whole = LLVMBuildICmp(
			e->b, LLVMIntEQ, LLVMBuildAnd(e->b, n, num(g, columns - 1), ""), num(g, 0), "");
		whole = LLVMBuildAnd(e->b, whole, less(g, m, num(g, PACK_ROWS)), "");
		w.wide = choose(g, whole, num(g, columns), w.wide);
		w.wide_panel = choose(g, whole, panel_function(&four, 4, false, PANEL_PLAIN), w.wide_panel);
	}
	return w;
}

/* ---- packing ------------------------------------------------------------- */

/* Packs kc rows of a panel of `width` columns into `panel`. Columns past the
 * end are zeros or copies of the last one. */
static void pack_panel(const Contract *g, LLVMValueRef from, LLVMValueRef left, LLVMValueRef width,
                       LLVMValueRef kc, LLVMValueRef panel) {
	uint32_t unit = g->columns ? g->lanes : 1;
	LLVMValueRef mask = NULL, last = minus(g, left, num(g, 1)), step = times_n(g, width, g->size);
	CountedLoop j, k;
	loop_begin(g, &j, num(g, 0), width, unit, true, 0, NULL);
	if (unit > 1) mask = emit_first_lanes(g->e, unit, minus(g, left, j.index));
	LLVMValueRef column = unit > 1 ? j.index : smaller(g, j.index, last);
	LLVMValueRef init[2] = {at(g, from, times(g, column, g->b_col)),
	                        at(g, panel, times_n(g, j.index, g->size))};
	loop_begin(g, &k, num(g, 0), kc, 1, false, 2, init);
	put(g, get(g, unit, k.carried[0], mask), k.carried[1], NULL);
	LLVMValueRef next[2] = {at(g, k.carried[0], g->b_k), at(g, k.carried[1], step)};
	loop_end(g, &k, next);
	loop_end(g, &j, NULL);
}

enum { TURN_ARGS = 6 };

/* The function that packs a panel, as pack_panel does, from a B whose columns
 * are contiguous: (panel, from, b_col, left, width, kc). It may write up to a
 * vector of rows past kc to the panel. */
static LLVMValueRef transpose_function(const Contract *g, LLVMTypeRef *type) {
	Emitter *e = g->e;
	LLVMTypeRef types[TURN_ARGS] = {e->ptr, e->ptr, e->i64, e->i64, e->i64, e->i64};
	*type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, TURN_ARGS, 0);
	char name[64];
	snprintf(name, sizeof name, "contract.%s.transpose", type_name(g));
	LLVMValueRef function = emit_kernel(e, name, *type);
	if (function) return function;
	SavedPosition outer;
	function = inner_begin(e, name, *type, false, &outer);
	LLVMValueRef arg[TURN_ARGS], column[64], x[64];
	for (uint32_t i = 0; i < TURN_ARGS; i++) arg[i] = LLVMGetParam(function, i);
	LLVMValueRef last = minus(g, arg[3], num(g, 1)), step = times_n(g, arg[4], g->size),
				 kc = arg[5];
	LLVMValueRef whole = LLVMBuildAnd(e->b, kc, num(g, -(int64_t)g->lanes), ""),
				 more = minus(g, kc, whole);
	CountedLoop j, k;
	loop_begin(g, &j, num(g, 0), arg[4], g->lanes, true, 0, NULL);
	for (uint32_t i = 0; i < g->lanes; i++)
		column[i] = at(g, arg[1], times(g, smaller(g, plus(g, j.index, num(g, i)), last), arg[2]));
	LLVMValueRef to = at(g, arg[0], times_n(g, j.index, g->size));
	loop_begin(g, &k, num(g, 0), whole, g->lanes, false, 1, &to);
	LLVMValueRef row = k.carried[0];
	for (uint32_t i = 0; i < g->lanes; i++)
		x[i] = get(g, g->lanes, at(g, column[i], times_n(g, k.index, g->size)), NULL);
	emit_transpose(e, g->lanes, x);
	for (uint32_t i = 0; i < g->lanes; i++, row = at(g, row, step)) put(g, x[i], row, NULL);
	loop_end(g, &k, &row);
	EmitIf c;
	emit_if_begin(e, &c, less(g, num(g, 0), more), 0);
	LLVMValueRef mask = emit_first_lanes(e, g->lanes, more);
	row = k.results[0];
	for (uint32_t i = 0; i < g->lanes; i++)
		x[i] = get(g, g->lanes, at(g, column[i], times_n(g, whole, g->size)), mask);
	emit_transpose(e, g->lanes, x);
	for (uint32_t i = 0; i < g->lanes; i++, row = at(g, row, step)) put(g, x[i], row, NULL);
	emit_if_else(e, &c, 0, NULL);
	emit_if_end(e, &c, NULL, NULL);
	loop_end(g, &j, NULL);
	emit_helper_end(e, &outer, NULL);
	return function;
}

/* ---- blocks and panels --------------------------------------------------- */

/* Rows of A that fill half of L2. A panel of B is packed once for each such
 * block. */
static int64_t row_block(const Contract *g) {
	int64_t rows = g->e->m->target.l2_bytes / 2 / (K_BLOCK * g->size);
	return rows < 2 * ROW_BLOCK ? 2 * ROW_BLOCK : rows / ROW_BLOCK * ROW_BLOCK;
}

/* Loops over blocks of k, blocks of rows and panels; each panel is a call. */
static void lanes_over_n_blocks(const Contract *g, const Widths *w) {
	Emitter *e = g->e;
	LLVMBuilderRef b = e->b;
	LLVMValueRef none = num(g, 0), lanes = num(g, g->lanes),
				 panel = stack(g, (uint64_t)(K_BLOCK * PACK_VECTORS * vector_bytes(g)));
	LLVMValueRef nwide = LLVMBuildUDiv(b, plus(g, g->n, w->slack), w->wide, ""),
				 rest = minus(g, g->n, times(g, nwide, w->wide));
	LLVMValueRef nnarrow = LLVMBuildUDiv(
		b, plus(g, choose(g, less(g, none, rest), rest, none), num(g, g->lanes - 1)), lanes, "");
	LLVMValueRef npanels = plus(g, nwide, nnarrow), quad = LLVMConstInt(e->i1, 0, 0);
	if (g->columns && g->masks) {
		LLVMValueRef few = LLVMBuildAnd(b, rest, num(g, g->lanes - 1), ""),
					 full = LLVMBuildUDiv(b, rest, lanes, "");
		LLVMValueRef function =
			choose(g, less(g, none, full), w->narrow_quad,
		           choose(g, less(g, none, nwide), w->wide_quad, LLVMConstNull(e->ptr)));
		quad = LLVMBuildAnd(b, less(g, none, few), less(g, few, num(g, QUAD + 1)), "");
		quad = LLVMBuildAnd(b, LLVMBuildAnd(b, quad, less(g, none, rest), ""),
		                    LLVMBuildICmp(b, LLVMIntNE, function, LLVMConstNull(e->ptr), ""), "");
		npanels = choose(g, quad, plus(g, nwide, full), npanels);
	}
	CountedLoop k, i, j;
	loop_begin(g, &k, none, g->k, K_BLOCK, true, 0, NULL);
	LLVMValueRef kc = smaller(g, minus(g, g->k, k.index), num(g, K_BLOCK)),
				 add = LLVMBuildOr(b, g->add, less(g, none, k.index), "");
	LLVMValueRef block_b = at(g, g->b, times(g, k.index, g->b_k)),
				 block_a = at(g, g->a, times(g, k.index, g->a_k));
	loop_begin(g, &i, none, g->m, row_block(g), false, 0, NULL);
	LLVMValueRef rows = smaller(g, minus(g, g->m, i.index), num(g, row_block(g)));
	LLVMValueRef a = at(g, block_a, times(g, i.index, g->a_row)),
				 c = at(g, g->c, times(g, i.index, g->c_row));
	LLVMValueRef begin = none, one = num(g, 1);
	/* only the last block of k adds the bias */
	LLVMValueRef bias =
		choose(g, less(g, plus(g, k.index, kc), g->k), LLVMConstNull(e->ptr), g->bias);
	if (g->columns && !g->transposed) {
		/* A few rows, which read B unpacked, take all of its whole panels in
		 * one call. */
		LLVMValueRef whole = LLVMBuildUDiv(b, g->n, w->wide, "");
		whole =
			minus(g, whole,
		          LLVMBuildZExt(
					  b, LLVMBuildAnd(b, quad, LLVMBuildICmp(b, LLVMIntEQ, whole, npanels, ""), ""),
					  e->i64, ""));
		LLVMValueRef few = less(g, g->m, num(g, PACK_ROWS));
		few = LLVMBuildAnd(b, few, less(g, none, whole), "");
		EmitIf branch;
		emit_if_begin(e, &branch, few, 0);
		LLVMValueRef args[PANEL_ARGS] = {c,      g->c_row, g->c_col, a,    g->a_row,
		                                 g->a_k, block_b,  g->b_k,   rows, kc,
		                                 g->n,   add,      whole,    bias};
		LLVMBuildCall2(b, panel_type(e), w->wide_panel, args, PANEL_ARGS, "");
		emit_if_else(e, &branch, 1, &whole);
		emit_if_end(e, &branch, &none, &begin);
	}
	LLVMValueRef init[1] = {times(g, begin, w->wide)};
	loop_begin(g, &j, begin, npanels, 1, false, 1, init);
	LLVMValueRef column = j.carried[0], is_wide = less(g, j.index, nwide),
				 width = choose(g, is_wide, w->wide, lanes);
	LLVMValueRef is_quad =
		LLVMBuildAnd(b, quad, LLVMBuildICmp(b, LLVMIntEQ, plus(g, j.index, one), npanels, ""), "");
	LLVMValueRef room = choose(g, is_quad, plus(g, width, lanes), width);
	LLVMValueRef left = minus(g, g->n, column), from = at(g, block_b, times(g, column, g->b_col));
	LLVMValueRef direct[2] = {from, g->b_k}, packed[2] = {panel, times_n(g, room, g->size)},
				 chosen[2];
	if (g->transposed) {
		LLVMTypeRef type;
		LLVMValueRef function = transpose_function(g, &type),
					 args[TURN_ARGS] = {panel, from, g->b_col, left, room, kc};
		LLVMBuildCall2(b, type, function, args, TURN_ARGS, "");
		memcpy(chosen, packed, sizeof chosen);
	} else if (g->columns) {
		/* Single vectors and the widest panels are read unpacked. */
		LLVMValueRef pack = LLVMBuildICmp(b, LLVMIntSGE, g->m, num(g, PACK_ROWS), ""),
					 fits = less(g, room, num(g, PACK_VECTORS * g->lanes + 1));
		pack = LLVMBuildAnd(b, pack, less(g, num(g, NEAR_BYTES), times(g, g->k, g->b_k)), "");
		if (!g->masks) pack = LLVMBuildOr(b, pack, less(g, left, width), "");
		pack = LLVMBuildAnd(b, pack, LLVMBuildAnd(b, less(g, lanes, width), fits, ""), "");
		EmitIf branch;
		emit_if_begin(e, &branch, pack, 0);
		pack_panel(g, from, left, room, kc, panel);
		emit_if_else(e, &branch, 2, packed);
		emit_if_end(e, &branch, direct, chosen);
	} else {
		pack_panel(g, from, left, width, kc, panel);
		memcpy(chosen, packed, sizeof chosen);
	}
	LLVMValueRef args[PANEL_ARGS] = {
		at(g, c, times(g, column, g->c_col)),
		g->c_row,
		g->c_col,
		a,
		g->a_row,
		g->a_k,
		chosen[0],
		chosen[1],
		rows,
		kc,
		left,
		add,
		one,
		choose(g, is_null(g, bias), bias, at(g, bias, times_n(g, column, g->size)))};
	LLVMValueRef plain = choose(g, is_wide, w->wide_panel, w->narrow_panel),
				 with_quad = choose(g, is_wide, w->wide_quad, w->narrow_quad);
	LLVMBuildCall2(b, panel_type(e), choose(g, is_quad, with_quad, plain), args, PANEL_ARGS, "");
	LLVMValueRef next[1] = {plus(g, column, width)};
	loop_end(g, &j, next);
	loop_end(g, &i, NULL);
	loop_end(g, &k, NULL);
}

/* A product of a single unpacked panel bypasses the loops of
 * lanes_over_n_blocks, whose overhead small products would notice. */
void lanes_over_n_form(const Contract *g, const Widths *w) {
	if (!g->columns || g->transposed) {
		lanes_over_n_blocks(g, w);
		return;
	}
	Emitter *e = g->e;
	LLVMBuilderRef b = e->b;
	LLVMValueRef wide = LLVMBuildICmp(b, LLVMIntEQ, g->n, w->wide, ""),
				 narrow = LLVMBuildICmp(b, LLVMIntEQ, w->slack, num(g, 0), "");
	narrow = LLVMBuildAnd(b, narrow, less(g, g->n, num(g, g->lanes + 1)), "");
	LLVMValueRef small =
		LLVMBuildAnd(b, less(g, g->k, num(g, K_BLOCK + 1)), less(g, g->m, num(g, PACK_ROWS)), "");
	small = LLVMBuildAnd(
		b, small, LLVMBuildAnd(b, less(g, num(g, 0), g->m), less(g, num(g, 0), g->n), ""), "");
	EmitIf c;
	emit_if_begin(e, &c, LLVMBuildAnd(b, small, LLVMBuildOr(b, wide, narrow, ""), ""), 0);
	LLVMValueRef args[PANEL_ARGS] = {g->c,   g->c_row, g->c_col,  g->a,   g->a_row,
	                                 g->a_k, g->b,     g->b_k,    g->m,   g->k,
	                                 g->n,   g->add,   num(g, 1), g->bias};
	LLVMBuildCall2(b, panel_type(e), choose(g, wide, w->wide_panel, w->narrow_panel), args,
	               PANEL_ARGS, "");
	emit_if_else(e, &c, 0, NULL);
	lanes_over_n_blocks(g, w);
	emit_if_end(e, &c, NULL, NULL);
}

/* ---- tiles for the runtime ----------------------------------------------- */

/* Tiles for products of hundreds of rows and columns, which the runtime cuts
 * and packs (native/run/gemm_driver.c). Tiles of 8 x 3 vectors have 24 sums, so
 * they need 32 registers. They need masks too, since any vector of the last
 * panel may lie past the last column. With 16 registers BLAS is faster. See
 * docs/internals/native.md. */
LLVMValueRef emit_large_tiles(Emitter *e, KType t) {
	const KTarget *target = &e->m->target;
	Contract g = {.e = e, .t = t, .size = ktype_size(t), .columns = true, .width = 3};
	g.lanes = target->vector_bytes >= 16 ? target->vector_bytes / g.size : 1;
	g.masks = target->has_masks && g.lanes > 1;
	g.rows = tile_rows(&g);
	if (!ktarget_has_large_tiles(target)) return LLVMConstNull(e->ptr);
	LLVMTypeRef transpose_type;
	Contract single = g;
	single.width = 1;
	LLVMValueRef fields[] = {panel_function(&g, g.width, false, PANEL_PLAIN),
	                         panel_function(&g, g.width, true, PANEL_PLAIN),
	                         panel_function(&single, 1, true, PANEL_PLAIN),
	                         transpose_function(&g, &transpose_type),
	                         num(&g, g.rows),
	                         num(&g, (int64_t)g.width * g.lanes),
	                         num(&g, g.lanes)};
	LLVMValueRef tiles = stack(&g, sizeof(NativeTiles));
	for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++)
		LLVMBuildStore(e->b, fields[i], at_n(&g, tiles, 8 * i));
	return tiles;
}
