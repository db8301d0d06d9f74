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
/* o (m x n, rows `leading` apart) = a (m x k) b (k x n), added to what stands there where `accumulate` holds. When `c` is interrupted the rest is left out. */
void tiles_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t n, int64_t k, BlasMatrix a, BlasMatrix b, char *o, int64_t leading, bool accumulate,
                   char *room);

/* TILES_OWN_ROWS is a multiple of all tiles' columns.
 * A matrix (m x k, of so many columns at a time) by its own transpose, what is on and below the diagonal: the same panels are both operands, packed once for all parts of C.
 * First all parts of `pack`, then those of the product. Tiles on the diagonal are whole. */
enum { TILES_DEPTH = 256, TILES_OWN_DEPTH = 1024, TILES_OWN_PACKS = TILES_OWN_DEPTH / TILES_DEPTH, TILES_OWN_ROWS = 96, TILES_OWN_COLUMNS = 264 };
typedef struct TilesBlock {
	int64_t row, rows_end, column, columns_end;
} TilesBlock;
int64_t tiles_own_room(const NativeTiles *t, int64_t size, int64_t m);
void tiles_own_pack(const NativeTiles *t, int64_t size, int64_t m, int64_t k, BlasMatrix a, int64_t part, char *room);
int64_t tiles_own_parts(const NativeTiles *t, int64_t m);
TilesBlock tiles_own_block(const NativeTiles *t, int64_t m, int64_t part); /* that of a part, the largest first */
void tiles_own_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t k, TilesBlock b, const char *room, char *o, int64_t leading, bool accumulate);

#endif
