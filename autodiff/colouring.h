/* colouring.h - which columns of a sparse matrix can be computed together, and where each element then lies.
 *
 * Needs: lang/context.h. Guarantees: memory comes from the context's heap and is given back; results do not depend on anything but the pattern.
 *
 * A matrix is had from p products with it and q with its transpose: of sums of columns of one colour, and of sums of rows of one colour. Direct
 * recovery: every element is one element of one product.
 */
#ifndef ATLED_AUTODIFF_COLOURING_H
#define ATLED_AUTODIFF_COLOURING_H

#include "lang/context.h"

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
	int64_t *place; /* by element, column after column: in the p products one after the other, then the q */
	int64_t nplace;
} Colouring;
void colouring_free(Ctx *c, Colouring *k);
/* Of a general matrix. Rows with many elements are had by themselves (a bidirectional partition), where that makes the whole cheaper. */
Status colour_general(Ctx *c, const RowPattern *p, const RowPattern *transposed, Colouring *out);
/* Of a symmetric matrix, from products with columns alone: a star colouring. */
Status colour_symmetric(Ctx *c, const RowPattern *p, Colouring *out);

#endif
