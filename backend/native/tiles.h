/* tiles.h - a large product of matrices by the code generator's register tiles: blocks of the operands are packed, tile by tile.
 *
 * Needs: blas.h (for its description of a matrix), abi.h. Guarantees: the sum of an element is that over blocks of TILES_DEPTH terms, each from its first term to its last,
 * added one after the other: it does not depend on where the element is, nor on how the product was cut into parts.
 */
#ifndef ATLED_BACKEND_NATIVE_TILES_H
#define ATLED_BACKEND_NATIVE_TILES_H

#include "backend/blas.h"
#include "backend/native/abi.h"

/* Of elements of `size` bytes, 4 or 8. */

/* Columns of a part, so that what is packed of B stays in the second cache; a multiple of the tile's. */
int64_t tiles_columns(const NativeTiles *t, int64_t size);
/* Bytes of memory that a part with at most so many columns needs, from a 64-byte boundary. */
int64_t tiles_room(const NativeTiles *t, int64_t size, int64_t columns);
/* o (m x n, rows `leading` apart) = a (m x k) b (k x n), added to what stands there where `accumulate` holds. lower: only tiles with an element on or below the diagonal.
 * When `c` is interrupted the rest is left out. */
void tiles_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t n, int64_t k, BlasMatrix a, BlasMatrix b, char *o, int64_t leading, bool accumulate, bool lower,
                   char *room);

#endif
