/* index_notation.h - indices, their ranges, and values with named axes.
 *
 * Needs: specialise/internal.h. Private to index_notation.c, index_ranges.c and
 * index_reduction.c.
 */
#ifndef ATLED_PARSER_SPECIALISE_INDEX_NOTATION_H
#define ATLED_PARSER_SPECIALISE_INDEX_NOTATION_H

#include "parser/specialise/internal.h"

#define MAX_INDICES 8

/* One index variable: either start + step*k for k in 0..length-1, or listed
 * values. */
typedef struct Ix {
	Atom name;
	Span span;
	Dim length;
	bool known;
	bool affine;
	Dim start;
	int64_t step;
	Ref values; /* i64 or any vector, when not affine */
	Av *inferred_from;
	const Ast *range; /* as written; NULL: inferred from use */
	Atom shares;      /* another index of the same clause, with the same range; 0: none */
	bool shifted;     /* used as i + 1 somewhere: the range is meant for interior points */
	/* A use where the range covers only part of an axis, and the extent of that
	 * axis. */
	Span part;
	Dim whole;
} Ix;

typedef struct IndexScope {
	struct IndexScope *outer;
	uint32_t n;
	Ix ix[MAX_INDICES];
} IndexScope;

/* A value with named leading axes. */
typedef struct Lv {
	Ref ref;
	uint32_t n; /* labels, in axis order */
	const Ix *label[MAX_INDICES];
	bool weak;
} Lv;

typedef struct Notation {
	Sp *sp;
	IndexScope *scope;
	const Ast *e;
} Notation;

/* ---- index_ranges.c ------------------------------------------------------ */
/* The innermost index of that name, or NULL. */
const Ix *ix_find(const Notation *nt, Atom name);
/* True when e mentions an index of any scope. */
bool ix_mentioned(const Notation *nt, const Ast *e);
/* Matches i, i + c, i - c, c + i. Returns the index; *offset is the constant's
 * expression (NULL: 0). */
const Ix *ix_affine(const Notation *nt, const Ast *e, const Ast **offset, bool *negative);
/* Sets the range of an index from its uses in the body, or as written. */
void ix_infer_range(Notation *nt, Ix *ix, const Ast *body);
void ix_explicit_range(Notation *nt, Ix *ix, const Ast *range);
/* Makes the scope of `for` clauses and opens it. */
void ix_open_clauses(Notation *nt, IndexScope *s, uint32_t nclauses, const ForClause *clauses,
                     const Ast *body);
/* Warns, at most once, of an index that provably omits elements of an axis only
 * because it shares the range of another index. */
void ix_warn_of_parts(Sp *sp, const IndexScope *s);

/* ---- index_notation.c ---------------------------------------------------- */
/* The value of an expression, labelled with the indices that it depends on. */
Lv lv_expr(Notation *nt, const Ast *e);
/* The axis with that label, or -1. */
int lv_label_place(const Lv *v, const Ix *ix);
/* Stores the labels of all values, each once; returns how many. */
uint32_t lv_union_labels(const Lv *v, uint32_t nv, const Ix **out);
/* Broadcasts v to the labels `to` (a superset, in that order). Keeps its inner
 * axes and extends them to at least `inner`. */
Ref lv_spread(Sp *sp, const Lv *v, uint32_t n, const Ix *const *to, uint32_t inner);
/* Applies `prim`, or else `op`, to one or two aligned operands. */
Lv lv_combine(Notation *nt, AstOp op, Op prim, uint32_t n, Lv *v, Span at);

/* ---- index_reduction.c --------------------------------------------------- */
/* REDUCE(body for clauses if filter). */
Lv lv_reduce(Notation *nt, const Ast *call, Op op, const Ast *gen);
/* An error unless r is true or false. */
void sp_want_condition(Sp *sp, Ref r, Span at);

#endif
