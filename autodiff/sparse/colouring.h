/* colouring.h - compressed computation of a sparse matrix: a colouring of its
 * columns and rows, and the recovery of its elements.
 *
 * Method: the matrix follows from p products with it and q with its transpose:
 * with sums of columns of one colour, and of rows of one colour. Direct
 * recovery: every element is one element of one product. Recovery by
 * substitution, for symmetric matrices: some elements are an element of a
 * product minus other recovered elements, along a tree.
 *
 * Needs: lang/base/context.h.
 *
 * Contract:
 * - Memory comes from the context's heap and is released.
 * - Results depend only on the pattern.
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
/* The pattern of the transpose. */
Status row_pattern_transposed(Ctx *c, const RowPattern *p, RowPattern *out);
/* The intersection of a square pattern with its transpose. */
Status row_pattern_symmetric(Ctx *c, const RowPattern *p, RowPattern *out);

typedef struct Colouring {
	int64_t m, n;
	int64_t *column; /* by column: its colour, 0 .. p-1 */
	int64_t *row;    /* by row: its colour, 0 .. q-1, or -1: it is recovered from the columns */
	int64_t p, q;
	/* By element, in column-major order: its index in the p products,
	 * concatenated with the q products and the sums. */
	int64_t *place;
	int64_t nplace;
	/* The sums. Each is an element of the matrix: the element of the products
	 * at `term`, minus the sums that are part of it, which precede it.
	 * part_of[k] is the index of the sum that sum k is part of; nsums: none. */
	int64_t nsums, most_terms; /* most_terms: product elements in the longest sum, 1 without sums */
	int64_t *term, *part_of;
} Colouring;
void colouring_free(Ctx *c, Colouring *k);
/* Colours a general matrix: columns, rows, or dense rows together with the
 * columns of the other rows (a bidirectional partition), whichever is cheapest.
 * A product with the transpose counts as two. */
Status colour_general(Ctx *c, const RowPattern *p, const RowPattern *transposed, Colouring *out);

typedef enum Recovery {
	/* Whichever of the two below has fewer colours, provided that no sum has
	 * more than COLOURING_TERMS terms. */
	RECOVERY_ANY,
	RECOVERY_DIRECT,      /* a star colouring */
	RECOVERY_SUBSTITUTION /* an acyclic colouring */
} Recovery;
/* A sum accumulates the rounding errors of its terms: with this many they stay
 * below 1e-12 of the largest element among them. */
#define COLOURING_TERMS 256
/* Colours a symmetric matrix for products with columns alone. */
Status colour_symmetric(Ctx *c, const RowPattern *p, Recovery recovery, Colouring *out);

#endif
