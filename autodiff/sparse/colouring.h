/* colouring.h - which columns of a sparse matrix can be computed together, and
 * where each element then lies.
 *
 * Needs: lang/base/context.h. Guarantees: memory comes from the context's heap
 * and is given back; results do not depend on anything but the pattern.
 *
 * A matrix is had from p products with it and q with its transpose: of sums of
 * columns of one colour, and of sums of rows of one colour. Direct recovery:
 * every element is one element of one product. Substitution: of a symmetric
 * matrix some are a product's element less elements that are had in the same
 * way, one after the other along a tree.
 */
#ifndef ATLED_AUTODIFF_SPARSE_COLOURING_H
#define ATLED_AUTODIFF_SPARSE_COLOURING_H

#include "lang/base/context.h"

/* A pattern by rows; the columns of a row ascend. */
typedef struct RowPattern {
	int64_t m, n;
	int64_t *start; /* m + 1 */
	int32_t *column;
	size_t start_bytes, column_bytes;
} RowPattern;
void row_pattern_free(Ctx *c, RowPattern *p);
/* By columns instead: the pattern of the transpose. */
Status row_pattern_transposed(Ctx *c, const RowPattern *p, RowPattern *out);
/* What a pattern has in common with its transpose; square. */
Status row_pattern_symmetric(Ctx *c, const RowPattern *p, RowPattern *out);

typedef struct Colouring {
	int64_t m, n;
	int64_t *column; /* by column: its colour, 0 .. p-1 */
	int64_t *row;    /* by row: its colour, 0 .. q-1, or -1: it is had from the columns */
	int64_t p, q;
	/* by element, column after column: in the p products one after the
	 * other, then the q, then the sums */
	int64_t *place;
	int64_t nplace;
	/* The sums: each is the element of the products that `term` names, less the
	 * sums that are part of it, which come before it: part_of is the number of
	 * the one that a sum is part of, nsums for none. Each is an element of the
	 * matrix. */
	int64_t nsums, most_terms; /* most_terms: elements of products in the longest, 1 without sums */
	int64_t *term, *part_of;
} Colouring;
void colouring_free(Ctx *c, Colouring *k);
/* Of a general matrix: columns, rows, or rows that have many elements and the
 * columns of the others (a bidirectional partition), whichever is cheapest,
 * where a product with the transpose counts as two. */
Status colour_general(Ctx *c, const RowPattern *p, const RowPattern *transposed, Colouring *out);

typedef enum Recovery {
	/* the fewer colours of the two below, where no sum has more than
	 * COLOURING_TERMS terms */
	RECOVERY_ANY,
	RECOVERY_DIRECT,      /* a star colouring */
	RECOVERY_SUBSTITUTION /* an acyclic colouring */
} Recovery;
/* Rounding errors of all terms go into a sum: those of so many stay below 1e-12
 * of the largest element among them. */
#define COLOURING_TERMS 256
/* Of a symmetric matrix, from products with columns alone. */
Status colour_symmetric(Ctx *c, const RowPattern *p, Recovery recovery, Colouring *out);

#endif
