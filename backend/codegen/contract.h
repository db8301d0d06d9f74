/* contract.h - interface of the files that emit K_CONTRACT.
 *
 * Covers the product, arithmetic of addresses, counted loops, panels, and the
 * two forms. contract.c describes the method.
 *
 * Contract: private to backend/codegen/contract*.c.
 */
#ifndef ATLED_BACKEND_CODEGEN_CONTRACT_H
#define ATLED_BACKEND_CODEGEN_CONTRACT_H

#include "backend/codegen/emit.h"
#include <string.h>

enum {
	/* k extent of a panel of B: A's and B's parts should fit together in L1,
	 * and long blocks mean fewer passes over C. */
	K_BLOCK = 128,
	MOST_ROWS = 8,
	MOST_VECTORS = 8,
	HELD = 16, /* rows of B that fit in registers besides eight sums */
	/* Widest packed panel, in vectors; limits the stack that it takes. */
	PACK_VECTORS = 5,
	MOST_SUMS = 24,
	QUAD = 4 /* columns of a quad, at most */
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
	/* lanes over K: byte offset of A in a pair, 0 or 8, see
	 * lanes_over_k_form */
	LLVMValueRef a_in_pair;
	uint32_t rows, width; /* of a tile: columns in vectors, with lanes over K in columns of B */
	bool fives;           /* tiles of five rows replace those of four */
	bool rest;            /* panels one vector wide follow the wide ones */
	bool ragged;          /* last vector of the last panel may pass the last column */
} Contract;

/* ---- arithmetic of addresses --------------------------------------------- */

static inline LLVMValueRef num(const Contract *g, int64_t x) {
	return LLVMConstInt(g->e->i64, (uint64_t)x, 1);
}
static inline LLVMValueRef plus(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildAdd(g->e->b, x, y, "");
}
static inline LLVMValueRef minus(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildSub(g->e->b, x, y, "");
}
static inline LLVMValueRef times(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildMul(g->e->b, x, y, "");
}
static inline LLVMValueRef times_n(const Contract *g, LLVMValueRef x, int64_t y) {
	return times(g, x, num(g, y));
}
static inline LLVMValueRef less(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return LLVMBuildICmp(g->e->b, LLVMIntSLT, x, y, "");
}
static inline LLVMValueRef is_null(const Contract *g, LLVMValueRef p) {
	return LLVMBuildICmp(g->e->b, LLVMIntEQ, p, LLVMConstNull(g->e->ptr), "");
}
static inline LLVMValueRef choose(const Contract *g, LLVMValueRef c, LLVMValueRef x,
                                  LLVMValueRef y) {
	return LLVMBuildSelect(g->e->b, c, x, y, "");
}
static inline LLVMValueRef smaller(const Contract *g, LLVMValueRef x, LLVMValueRef y) {
	return choose(g, less(g, x, y), x, y);
}
static inline LLVMValueRef at(const Contract *g, LLVMValueRef p, LLVMValueRef bytes) {
	return LLVMBuildGEP2(g->e->b, g->e->i8, p, &bytes, 1, "");
}
static inline LLVMValueRef at_n(const Contract *g, LLVMValueRef p, int64_t bytes) {
	return bytes ? at(g, p, num(g, bytes)) : p;
}
static inline int64_t known(LLVMValueRef x) {
	return LLVMIsAConstantInt(x) ? LLVMConstIntGetSExtValue(x) : -1;
}
static inline LLVMValueRef get(const Contract *g, uint32_t lanes, LLVMValueRef address,
                               LLVMValueRef mask) {
	return emit_load(g->e, g->t, lanes, address, 0, mask);
}
static inline void put(const Contract *g, LLVMValueRef value, LLVMValueRef address,
                       LLVMValueRef mask) {
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
static inline void loop_begin(const Contract *g, CountedLoop *s, LLVMValueRef lo, LLVMValueRef hi,
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
static inline void loop_end(const Contract *g, CountedLoop *s, const LLVMValueRef *next) {
	if (!s->once) emit_loop_end(g->e, &s->loop, next);
	s->results = s->once ? next : s->loop.carried;
}

static inline LLVMValueRef stack(const Contract *g, uint64_t bytes) {
	return emit_slot(g->e, bytes, 64);
}

/* The function's first argument is C, which nothing else aliases. */
static inline LLVMValueRef inner_begin(Emitter *e, const char *name, LLVMTypeRef type, bool plain,
                                       SavedPosition *outer) {
	LLVMValueRef function = emit_helper_begin(e, name, type, plain, outer);
	unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
	LLVMAddAttributeAtIndex(function, 1, LLVMCreateEnumAttribute(e->context, noalias, 0));
	return function;
}

static inline const char *type_name(const Contract *g) { return g->t == KT_F64 ? "f64" : "f32"; }

static inline int64_t vector_bytes(const Contract *g) { return (int64_t)g->lanes * g->size; }

/* ---- lanes over N, one panel: contract_panel.c --------------------------- */

typedef enum PanelKind { PANEL_PLAIN, PANEL_QUAD, PANEL_HELD } PanelKind;
enum { PANEL_ARGS = 14 };
/* The function for a kind of panel, emitted when first needed. Its arguments
 * are C's first row at the panel's first column, c_row, c_col; a, a_row, a_k;
 * b, b_step; m, k, the columns from the panel's first to the last of all;
 * whether to add, the number of adjacent panels, the bias. */
LLVMValueRef panel_function(const Contract *g, uint32_t vectors, bool ragged, PanelKind kind);
LLVMTypeRef panel_type(Emitter *e);
/* May a quad follow a panel whose tiles have so many rows and vectors? */
bool has_quad(const Contract *g, uint32_t rows, uint32_t vectors);
/* Inlines the panel that keeps B in registers, guarded by a test that it
 * applies. `args` are the operands of K_CONTRACT and whether to add. `c` is
 * left open in the other case. */
void held_inline(const Contract *g, LLVMValueRef *const args, EmitIf *c);

/* ---- lanes over N, all columns: contract_columns.c ----------------------- */

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
/* Chooses the panels for m x n elements of C; sets the rows and width of g's
 * tiles. padded: n is a multiple of the lanes, by padding. */
Widths choose_widths(Contract *g, LLVMValueRef m, LLVMValueRef n, LLVMValueRef k, LLVMValueRef a_k,
                     bool padded);
/* Emits the body of the form's function. */
void lanes_over_n_form(const Contract *g, const Widths *w);

/* ---- lanes over K: contract_dots.c --------------------------------------- */

/* Emits the body of the form's function. Exchanges A and B where that makes the
 * longer side the rows. */
void lanes_over_k_form(Contract *g);

#endif
