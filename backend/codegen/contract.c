/* contract.c - K_CONTRACT: register-blocked code for small and medium GEMM.
 *
 * Method: register tiles and packed panels, as in Goto and van de Geijn (2008).
 * A product becomes a call of an internal function of the module. Extents and
 * strides are its arguments, so all products of one element type and form share
 * it; constant extents only choose among the functions.
 *
 * Contract:
 * - Needs emit.h.
 * - Only the m x n elements of C are written (or added to), unless KF_PADDED
 *   gives room for whole vectors. A and B likewise are read at their elements
 *   only.
 * - C must not overlap A or B.
 * - The summation order of an element depends on k and the target alone, not on
 *   m, n or the element's position. A product may therefore be cut by rows or
 *   columns without changing a bit.
 * - Old values of C are added to the finished sum of a block of k.
 *
 * Forms:
 * - Lanes over N. A tile of R rows by V vectors of sums stays in registers
 *   while k runs: V loads of B and R broadcasts of A for R*V multiply-adds. The
 *   order is k = 0, 1, 2 ... in blocks of K_BLOCK, which are added one after
 *   the other. One function cuts C into blocks and panels and packs panels of
 *   B; it calls another for all tiles of a panel, one for each width and kind.
 *   Where B's columns are not neighbours, panels are always packed and C is
 *   written element by element.
 * - Packed transposed B: the same for a B stored by columns. Vectors of k
 *   become vectors of columns.
 * - Lanes over K. A tile has R rows of A by S columns of B, with a vector of
 *   partial sums each, reduced four at a time at the end. The reduction is
 *   costly where k is short: see KF_TRANSPOSE_B. All products of the
 *   instruction therefore pass a tile before it is reduced; in the other forms
 *   each product is a call.
 *
 * Quads: one to four columns after the last whole vector join the last panel.
 * Four columns of two or four rows share a vector of sums; A's broadcast
 * scalars, which the tile has anyway, are blended for it (Panel.quad). This
 * needs masks and vectors of 64 bytes.
 *
 * Rows past the last row of C are computed as copies of the last row. They are
 * stored to the same address, after all old values of C are read. Row
 * remainders thus need neither code nor branches. KF_TILE_5 selects tiles of
 * five rows, where they leave fewer such copies than tiles of four.
 *
 * Tile sizes: eight sums cover a latency of four cycles at two multiply-adds a
 * cycle. Among the tiles that do, the smallest compiles fastest and wastes
 * least where one side is short.
 */
#include "backend/codegen/emit.h"
#include <stdio.h>
#include <string.h>

enum {
	/* k extent of a panel of B: A's and B's parts should fit together in L1,
	 * and long blocks mean fewer passes over C. */
	K_BLOCK = 128,
	/* Unit of the rows of A that pass one panel before the next, see row_block.
	 * Tile heights divide it. */
	ROW_BLOCK = 48,
	/* Rows of A from which a panel of B is packed. Packing costs about as much
	 * as three rows. */
	PACK_ROWS = 48,
	/* If B with the gaps between its rows fits in L1, packing gains nothing. */
	NEAR_BYTES = 32768,
	MOST_ROWS = 8,
	MOST_VECTORS = 8,
	HELD = 16, /* rows of B that fit in registers besides eight sums */
	/* Widest packed panel, in vectors; limits the stack that it takes. */
	PACK_VECTORS = 5,
	MOST_SUMS = 24,
	FIVES_WIDE = 4,
	DOTS_BLOCK_BYTES = 2048, /* k block of a row of A or a column of B */
	/* Rows of A that stay in L1 while B passes from L2: two tiles of four.
	 * Tiles of five rows use ten. */
	DOTS_BAND = 8
};

typedef struct Contract {
	Emitter *e;
	KType t;
	uint32_t size, lanes;
	bool columns, transposed, lanes_over_k, masks;              /* transposed: also columns */
	LLVMValueRef c, c_row, c_col, a, a_row, a_k, b, b_k, b_col; /* strides in bytes */
	LLVMValueRef m, n, k;
	LLVMValueRef add;  /* i1: add C's old values */
	LLVMValueRef bias; /* row added to each row of C at the end; null: none */
	/* lanes over K: array in memory of two pointers for each product, to its A
	 * and B */
	LLVMValueRef pairs, npairs;
	LLVMValueRef
		a_in_pair; /* lanes over K: byte offset of A in a pair, 0 or 8; see lanes_over_k_form */
	uint32_t rows, width; /* of a tile: columns in vectors, with lanes over K in columns of B */
	bool fives;           /* tiles of five rows replace those of four */
	bool rest;            /* panels one vector wide follow the wide ones */
	bool ragged;          /* last vector of the last panel may pass the last column */
} Contract;

/* ---- arithmetic of addresses --------------------------------------------- */

static LLVMValueRef num(const Contract *g, int64_t x) {
	return LLVMConstInt(g->e->i64, (uint64_t)x, 1);
}
static LLVMValueRef plus(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildAdd(g->e->b, x, y, "");
}
static LLVMValueRef minus(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildSub(g->e->b, x, y, "");
}
static LLVMValueRef times(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildMul(g->e->b, x, y, "");
}
static LLVMValueRef times_n(const Contract *g, LLVMValueRef x, int64_t y) {
	return times(g, x, num(g, y));
}
static LLVMValueRef less(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildICmp(g->e->b, LLVMIntSLT, x, y, "");
}
static LLVMValueRef is_null(const Contract *g, LLVMValueRef p) {
	return LLVMBuildICmp(g->e->b, LLVMIntEQ, p, LLVMConstNull(g->e->ptr), "");
}
static LLVMValueRef choose(const Contract *g, LLVMValueRef c, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildSelect(g->e->b, c, x, y, "");
}
static LLVMValueRef smaller(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return choose(g, less(g, x, y), x, y);
}
static LLVMValueRef at(const Contract *g, LLVMValueRef p, LLVMValueRef bytes) {
	return LLVMBuildGEP2(g->e->b, g->e->i8, p, &bytes, 1, "");
}
static LLVMValueRef at_n(const Contract *g, LLVMValueRef p, int64_t bytes) {
	return bytes ? at(g, p, num(g, bytes)) : p;
}
static int64_t known(LLVMValueRef x) {
	return LLVMIsAConstantInt(x) ? LLVMConstIntGetSExtValue(x) : -1;
}
static LLVMValueRef get(const Contract *g, uint32_t lanes, LLVMValueRef address,
                        LLVMValueRef mask) {
	return emit_load(g->e, g->t, lanes, address, 0, mask);
}
static void put(const Contract *g, LLVMValueRef value, LLVMValueRef address, LLVMValueRef mask) {
	emit_store(g->e, g->t, value, address, 0, mask);
}

/* for (x = lo; x < hi; x += step) where lo < hi is known; without a loop when
 * there is just one iteration */
typedef struct CountedLoop {
	EmitLoop loop;
	bool once;
	LLVMValueRef index;
	const LLVMValueRef *carried, *results;
} CountedLoop;
static void loop_begin(const Contract *g, CountedLoop *s, LLVMValueRef lo, LLVMValueRef hi,
                       int64_t step, bool nonempty, uint32_t n, LLVMValueRef *init) {
	int64_t first = known(lo), end = known(hi);
	memset(s, 0, sizeof *s);
	s->once = first >= 0 && end > first && first + step >= end;
	if (s->once) {
		s->index = lo;
		s->carried = init;
		return;
	}
	s->loop.at_least_once = nonempty || (first >= 0 && end > first);
	emit_loop_begin(g->e, &s->loop, lo, hi, step, n, init);
	s->index = s->loop.index;
	s->carried = s->loop.carried;
}
static void loop_end(const Contract *g, CountedLoop *s, const LLVMValueRef *next) {
	if (!s->once) emit_loop_end(g->e, &s->loop, next);
	s->results = s->once ? next : s->loop.carried;
}

static LLVMValueRef stack(const Contract *g, uint64_t bytes) { return emit_slot(g->e, bytes, 64); }

/* The function's first argument is C, which nothing else aliases. */
static LLVMValueRef inner_begin(Emitter *e, const char *name, LLVMTypeRef type, bool plain,
                                SavedPosition *outer) {
	LLVMValueRef function = emit_helper_begin(e, name, type, plain, outer);
	unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
	LLVMAddAttributeAtIndex(function, 1, LLVMCreateEnumAttribute(e->context, noalias, 0));
	return function;
}

static const char *type_name(const Contract *g) { return g->t == KT_F64 ? "f64" : "f32"; }

/* ---- lanes over N: one panel --------------------------------------------- */

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

static int64_t vector_bytes(const Contract *g) { return (int64_t)g->lanes * g->size; }

/* The mask of the last vector's lanes that are columns; NULL when all are. */
static LLVMValueRef last_mask(const Panel *p) {
	const Contract *g = p->g;
	return p->ragged ? emit_first_lanes(g->e, g->lanes,
	                                    minus(g, p->left, num(g, (p->vectors - 1) * g->lanes)))
	                 : NULL;
}

enum { QUAD = 4 };

/* Rows that share one vector of quads. */
static uint32_t quad_rows(const Contract *g) { return g->lanes / QUAD; }

/* May a quad follow a panel whose tiles have so many rows and vectors? */
static bool has_quad(const Contract *g, uint32_t rows, uint32_t vectors) {
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

enum { PANEL_ARGS = 14 };

/* The arguments are in the order of Panel's fields. */
static LLVMTypeRef panel_type(Emitter *e) {
	LLVMTypeRef types[PANEL_ARGS] = {e->ptr, e->i64, e->i64, e->ptr, e->i64, e->i64, e->ptr,
	                                 e->i64, e->i64, e->i64, e->i64, e->i1,  e->i64, e->ptr};
	return LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, PANEL_ARGS, 0);
}

/* The function for a kind of panel, emitted when first needed. */
typedef enum PanelKind { PANEL_PLAIN, PANEL_QUAD, PANEL_HELD } PanelKind;

static LLVMValueRef panel_function(const Contract *g, uint32_t vectors, bool ragged,
                                   PanelKind kind) {
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

/* ---- lanes over N: all columns ------------------------------------------- */

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

/* The choice of panels, passed as arguments so that all widths share the
 * function. */
typedef struct Widths {
	/* wide: columns of a wide panel, and the function for one. Wide panels
	 * number (n + slack) / wide. */
	LLVMValueRef wide, slack, wide_panel;
	/* the function for one vector of columns; it takes the remainder */
	LLVMValueRef narrow_panel;
	/* the functions for the last panel with a quad; null: none */
	LLVMValueRef wide_quad, narrow_quad;
} Widths;

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
static void lanes_over_n_form(const Contract *g, const Widths *w) {
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

/* ---- lanes over K -------------------------------------------------------- */

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

static void lanes_over_k_form(Contract *g) {
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

/* ---- the function and its call ------------------------------------------- */

enum { OPERANDS = 12, CONTRACT_ARGS = 22 };

/* The function for a form. Arguments: K_CONTRACT's first operands, whether to
 * add (i1), Widths, the pairs and their number, the panels with quads, the
 * bias. */
static LLVMValueRef contract_function(Contract *g, LLVMTypeRef type) {
	Emitter *e = g->e;
	char name[64];
	if (g->lanes_over_k)
		snprintf(name, sizeof name, "contract.%s.lanes_over_k%ux%u", type_name(g), g->rows,
		         g->width);
	else
		snprintf(name, sizeof name, "contract.%s.%s", type_name(g),
		         g->transposed ? "transposed"
		         : g->columns  ? "lanes_over_n"
		                       : "general");
	LLVMValueRef function = emit_kernel(e, name, type);
	if (function) return function;
	SavedPosition outer;
	Widths w;
	function = inner_begin(e, name, type, !g->lanes_over_k, &outer);
	LLVMValueRef *const args[CONTRACT_ARGS] = {
		&g->c,      &g->c_row,    &g->c_col,      &g->a,         &g->a_row,       &g->a_k,
		&g->b,      &g->b_k,      &g->b_col,      &g->m,         &g->n,           &g->k,
		&g->add,    &w.wide,      &w.slack,       &w.wide_panel, &w.narrow_panel, &g->pairs,
		&g->npairs, &w.wide_quad, &w.narrow_quad, &g->bias};
	LLVMValueRef *const strides[] = {&g->c_row, &g->c_col, &g->a_row, &g->a_k, &g->b_k, &g->b_col};
	for (uint32_t i = 0; i < CONTRACT_ARGS; i++) *args[i] = LLVMGetParam(function, i);
	for (uint32_t i = 0; i < 6; i++) *strides[i] = times_n(g, *strides[i], g->size);
	if (g->columns) g->c_col = num(g, g->size);
	if (g->transposed) g->b_k = num(g, g->size);
	else if (g->columns) g->b_col = num(g, g->size);
	if (g->lanes_over_k) lanes_over_k_form(g);
	else lanes_over_n_form(g, &w);
	emit_helper_end(e, &outer, NULL);
	return function;
}

/* Inlines the panel that keeps B in registers, guarded by a test that it
 * applies. For tiny products the setup around a call costs a notable part of
 * the time; inlined, it is hoisted out of the loop over the products. `c` is
 * left open in the other case. */
static void held_inline(const Contract *g, LLVMValueRef *const args, EmitIf *c) {
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

void emit_contract(Emitter *e, const KInst *in) {
	KType t = (KType)in->type;
	Contract g = {.e = e, .t = t, .size = ktype_size(t)};
	g.lanes = e->m->target.vector_bytes >= 16 ? e->m->target.vector_bytes / g.size : 1;
	g.transposed = !(in->flags & KF_B_COL_UNIT) && in->flags & KF_K_UNIT &&
	               in->flags & KF_TRANSPOSE_B && g.lanes > 1;
	g.columns = g.transposed || in->flags & KF_B_COL_UNIT;
	g.lanes_over_k = !g.columns && in->flags & KF_K_UNIT;
	g.masks = e->m->target.has_masks && g.lanes > 1;
	g.fives = in->flags & KF_TILE_5;
	LLVMValueRef args[CONTRACT_ARGS];
	LLVMTypeRef types[CONTRACT_ARGS];
	for (uint32_t i = 0; i < OPERANDS; i++) args[i] = emit_value(e, emit_operand(e, in, i));
	args[12] = LLVMConstInt(e->i1, (in->flags & KF_ACCUMULATE) != 0, 0);
	args[13] = args[14] = num(&g, 0);
	args[15] = args[16] = args[17] = LLVMConstNull(e->ptr);
	args[18] = num(&g, 1);
	args[19] = args[20] = args[21] = LLVMConstNull(e->ptr);
	const uint32_t nproducts = 1 + (in->nargs - OPERANDS) / 2;
	if (in->flags & KF_BIAS) {
		if (!g.columns || nproducts > 1)
			emit_stop(e, "a bias where lanes do not run along the columns");
		args[21] = emit_value(e, emit_operand(e, in, OPERANDS));
	}
	int64_t m = known(args[9]), n = known(args[10]);
	if (g.lanes_over_k) {
		/* A matrix-vector product: the longer side becomes the rows, see
		 * lanes_over_k_form. */
		bool vector = m == 1 || n == 1;
		g.rows = vector ? 8 : g.fives ? 5 : 4;
		g.width = vector ? 1 : 2;
		args[17] = stack(&g, 16ull * nproducts);
		args[18] = num(&g, nproducts);
		for (uint32_t i = 0; i < nproducts; i++)
			for (uint32_t k = 0; k < 2; k++) {
				LLVMValueRef from =
					i ? emit_value(e, emit_operand(e, in, OPERANDS + 2 * (i - 1) + k))
					  : args[k ? 6 : 3];
				LLVMBuildStore(e->b, from, at_n(&g, args[17], 16 * i + 8 * k));
			}
	} else {
		/* With padding after the last column all vectors are whole. */
		bool padded = g.columns && !g.transposed && in->flags & KF_PADDED;
		if (padded)
			args[10] = LLVMBuildAnd(e->b, plus(&g, args[10], num(&g, g.lanes - 1)),
			                        num(&g, -(int64_t)g.lanes), "");
		choose_panels(&g, m, n, padded);
		/* Without narrow panels, wide ones take all columns; otherwise as many
		 * whole ones as fit. */
		int64_t wide = (int64_t)g.width * g.lanes;
		args[13] = num(&g, wide);
		args[14] = num(&g, g.rest ? 0 : wide - 1);
		const bool ragged = g.ragged && !g.rest;
		args[15] = g.width == 1 ? single_panel(&g, ragged, args[11], args[5])
		                        : panel_function(&g, g.width, ragged, PANEL_PLAIN);
		if (g.rest && g.ragged && has_quad(&g, g.rows, g.width))
			args[19] = panel_function(&g, g.width, false, PANEL_QUAD);
		if (g.rest) {
			/* as many sums over fewer columns */
			Contract narrow = g;
			narrow.width = 1;
			narrow.rows = m > 0 && m < 4 ? (uint32_t)m : 0;
			narrow.rows = tile_rows(&narrow);
			args[16] = single_panel(&narrow, g.ragged, args[11], args[5]);
			if (g.ragged && has_quad(&narrow, narrow.rows, 1))
				args[20] = panel_function(&narrow, 1, false, PANEL_QUAD);
		}
		if (reads_in_fours(&g)) {
			Contract four = g;
			four.width = 4;
			four.rows = m > 0 && m < 4 ? (uint32_t)m : 0;
			four.rows = tile_rows(&four);
			const int64_t columns = 4 * (int64_t)g.lanes;
			LLVMValueRef whole = LLVMBuildICmp(
				e->b, LLVMIntEQ, LLVMBuildAnd(e->b, args[10], num(&g, columns - 1), ""), num(&g, 0),
				"");
			whole = LLVMBuildAnd(e->b, whole, less(&g, args[9], num(&g, PACK_ROWS)), "");
			args[13] = choose(&g, whole, num(&g, columns), args[13]);
			args[15] = choose(&g, whole, panel_function(&four, 4, false, PANEL_PLAIN), args[15]);
		}
	}
	EmitIf held;
	const bool in_place = in->flags & KF_IN_REGISTERS && g.columns && !g.transposed && g.masks &&
	                      e->m->target.registers >= 32 && e->options->level;
	if (in_place) held_inline(&g, args, &held);
	for (uint32_t i = 0; i < CONTRACT_ARGS; i++) types[i] = LLVMTypeOf(args[i]);
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, CONTRACT_ARGS, 0);
	LLVMValueRef function = contract_function(&g, type);
	LLVMBuildCall2(e->b, type, function, args, CONTRACT_ARGS, "");
	for (uint32_t i = 1; i < nproducts && !g.lanes_over_k; i++) {
		args[3] = emit_value(e, emit_operand(e, in, OPERANDS + 2 * (i - 1)));
		args[6] = emit_value(e, emit_operand(e, in, OPERANDS + 2 * (i - 1) + 1));
		args[12] = LLVMConstInt(e->i1, 1, 0);
		LLVMBuildCall2(e->b, type, function, args, CONTRACT_ARGS, "");
	}
	if (in_place) emit_if_end(e, &held, NULL, NULL);
}

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
