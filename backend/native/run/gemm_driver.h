/* gemm_driver.h - a large product of matrices by the code generator's register
 * tiles: blocks of the operands are packed, tile by tile.
 *
 * Needs: blas.h (for its description of a matrix), abi.h. Guarantees: the sum
 * of an element is that over blocks of TILES_DEPTH terms, each from its first
 * term to its last, added one after the other: it does not depend on where the
 * element is, nor on how the product was cut into parts.
 */
#ifndef ATLED_BACKEND_NATIVE_RUN_GEMM_DRIVER_H
#define ATLED_BACKEND_NATIVE_RUN_GEMM_DRIVER_H

#include "backend/numlib/blas.h"
#include "backend/native/kir/abi.h"

/* Of elements of `size` bytes, 4 or 8. A product is done for so many columns
 * and so many terms at a time: first all parts of `pack`, which put B's panels
 * into one place for all, then the product's, blocks of C's rows, or of a
 * triangle's. TILES_OWN_ROWS is a multiple of all tiles' columns. */
enum { TILES_DEPTH = 512, TILES_TERMS = 1024, TILES_OWN_ROWS = 96, TILES_OWN_COLUMNS = 264 };

/* Columns at a time: what is packed of TILES_DEPTH rows of B is twice the
 * second cache. A multiple of the tile's. */
int64_t tiles_columns(const NativeTiles *t, int64_t size);
/* Bytes for the panels of so many columns and TILES_TERMS rows of B, and for
 * what a thread packs of A; from 64-byte boundaries. */
int64_t tiles_panels_room(const NativeTiles *t, int64_t size, int64_t columns);
int64_t tiles_rows_room(const NativeTiles *t, int64_t size);
/* b is k x n, k <= TILES_TERMS. */
int64_t tiles_packs(int64_t k);
void tiles_pack(const NativeTiles *t, int64_t size, int64_t n, int64_t k, BlasMatrix b,
                int64_t part, char *panels);
/* Whether tiles read b (k x n) faster where it lies than packed. */
bool tiles_read(int64_t size, int64_t n, int64_t k, BlasMatrix b);
/* o (m x n, rows `leading` apart) = a (m x k) b, added to what stands there
 * where `accumulate` holds; b is read from `panels`, or where that is NULL from
 * where it lies. When `c` is interrupted the rest is left out. */
void tiles_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t n,
                   int64_t k, BlasMatrix a, BlasMatrix b, const char *panels, char *o,
                   int64_t leading, bool accumulate, char *room);

/* A matrix (m x k) by its own transpose, packed as B' is, what is on and below
 * the diagonal: the same panels are both operands. Tiles on the diagonal are
 * whole. */
typedef struct TilesBlock {
	int64_t row, rows_end, column, columns_end;
} TilesBlock;
int64_t tiles_own_parts(const NativeTiles *t, int64_t m);
/* that of a part, the largest first */
TilesBlock tiles_own_block(const NativeTiles *t, int64_t m, int64_t part);
void tiles_own_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t k,
                       TilesBlock b, const char *panels, char *o, int64_t leading, bool accumulate);

#endif
