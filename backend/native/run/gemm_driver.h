/* gemm_driver.h - large matrix products with generated register tiles.
 *
 * Needs: blas.h (for its description of a matrix), abi.h.
 *
 * Contract:
 * - An element is summed in blocks of TILES_DEPTH terms, each from its first
 *   term to its last. The blocks are added one after the other.
 * - The order therefore depends neither on the element's position nor on the
 *   division into chunks.
 */
#ifndef ATLED_BACKEND_NATIVE_RUN_GEMM_DRIVER_H
#define ATLED_BACKEND_NATIVE_RUN_GEMM_DRIVER_H

#include "backend/numlib/blas.h"
#include "backend/native/kir/abi.h"

/* Elements have `size` bytes, 4 or 8. A product is computed for some columns
 * and some terms at a time. First all chunks of tiles_pack copy B's panels to
 * memory that the threads share. Then come the product's chunks: blocks of C's
 * rows, or of a triangle's. TILES_OWN_ROWS is a multiple of every tile's column
 * count. */
enum { TILES_DEPTH = 512, TILES_TERMS = 1024, TILES_OWN_ROWS = 96, TILES_OWN_COLUMNS = 264 };

/* Columns at a time, a multiple of the tile's: TILES_DEPTH packed rows of B
 * take twice the second-level cache. */
int64_t tiles_columns(const NativeTiles *t, int64_t size);
/* Bytes for the panels of `columns` columns and TILES_TERMS rows of B, and for
 * the part of A that a thread packs. Both must begin at 64-byte boundaries. */
int64_t tiles_panels_room(const NativeTiles *t, int64_t size, int64_t columns);
int64_t tiles_rows_room(const NativeTiles *t, int64_t size);
/* The number of chunks that pack b, and one of them. b is k x n, k <=
 * TILES_TERMS. */
int64_t tiles_packs(int64_t k);
void tiles_pack(const NativeTiles *t, int64_t size, int64_t n, int64_t k, BlasMatrix b,
                int64_t part, char *panels);
/* Whether tiles read b (k x n) faster in place than packed. */
bool tiles_read(int64_t size, int64_t n, int64_t k, BlasMatrix b);
/* o (m x n, rows `leading` apart) = a (m x k) b, or += where `accumulate` is
 * set. The product reads b from `panels`, or in place when that is NULL. Stops
 * early when `c` is interrupted. */
void tiles_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t n,
                   int64_t k, BlasMatrix a, BlasMatrix b, const char *panels, char *o,
                   int64_t leading, bool accumulate, char *room);

/* A matrix (m x k) times its own transpose, on and below the diagonal. It is
 * packed as B' is, and both operands are the same panels. Tiles on the diagonal
 * are computed whole. */
typedef struct TilesBlock {
	int64_t row, rows_end, column, columns_end;
} TilesBlock;
int64_t tiles_own_parts(const NativeTiles *t, int64_t m);
/* The block of a chunk, the largest first. */
TilesBlock tiles_own_block(const NativeTiles *t, int64_t m, int64_t part);
void tiles_own_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t k,
                       TilesBlock b, const char *panels, char *o, int64_t leading, bool accumulate);

#endif
