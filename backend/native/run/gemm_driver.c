/* gemm_driver.c - large matrix products with generated register tiles.
 *
 * Needs: gemm_driver.h, cpu.h for the cache sizes.
 *
 * Method: packed panels, as in Goto and van de Geijn (2008).
 *
 * - Blocks of TILES_DEPTH rows of B are packed panel by panel, as wide as a
 *   tile, once for all threads.
 * - Blocks of A's rows stay in the second-level cache and pass all panels.
 * - Where A's columns are not contiguous, its blocks are packed, too: a vector
 *   of rows with the elements of a column adjacent. A stored by rows is faster
 *   in place.
 * - A row-major B of at most four times the second-level cache is read in
 *   place. Panels packed by several threads would have to come from other
 *   processors' caches.
 */
#include "backend/native/run/gemm_driver.h"
#include "backend/native/kir/cpu.h"
#include <string.h>

enum { BLOCK_ROWS = 96 /* a multiple of all lane counts */, LINES = 8 };

static int64_t up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

int64_t tiles_columns(const NativeTiles *t, int64_t size) {
	const int64_t fit = 2 * (int64_t)native_target()->l2_bytes / (TILES_DEPTH * size);
	return up(fit < 256 ? 256 : fit, t->columns);
}

/* Both sizes include space for writes of the transposing pack past its end. */
int64_t tiles_rows_room(const NativeTiles *t, int64_t size) {
	return (BLOCK_ROWS * TILES_DEPTH + t->lanes * t->lanes) * size;
}

int64_t tiles_panels_room(const NativeTiles *t, int64_t size, int64_t columns) {
	return (up(columns, t->columns) * TILES_TERMS + t->lanes * t->columns) * size;
}

/* The offset of a panel: all panels of the first block of depth come first. */
static int64_t panel_at(const NativeTiles *t, int64_t size, int64_t n, int64_t p, int64_t depth,
                        int64_t j) {
	return (p * up(n, t->columns) + j * depth) * size;
}

/* Copies the first `wide` elements of each of k lines, `step` bytes apart, one
 * line after the other. Elements from `there` on become 0. */
#define PACK_LINES(BYTES)                                                                          \
	for (int64_t p = 0; p < k; p++, o += (BYTES), from += step) memcpy(o, from, (BYTES))
static void pack_lines(char *o, const char *from, int64_t step, int64_t k, int64_t wide,
                       int64_t there, int64_t size) {
	if (there < wide) {
		memset(o, 0, (size_t)(k * wide * size));
		for (int64_t p = 0; p < k; p++, o += wide * size, from += step)
			memcpy(o, from, (size_t)(there * size));
		return;
	}
	switch (wide * size) { /* sizes that tiles have */
	case 64: PACK_LINES(64); break;
	case 192: PACK_LINES(192); break;
	default: PACK_LINES((size_t)(wide * size));
	}
}

/* The same for any strides. */
#define PACK_APART(T)                                                                              \
	for (int64_t p = 0; p < k; p++)                                                                \
		for (int64_t j = 0; j < wide; j++)                                                         \
	((T *)(void *)o)[p * wide + j] =                                                               \
		j < there ? ((const T *)(const void *)from)[p * step + j * apart] : 0
static void pack_apart(char *o, const char *from, int64_t step, int64_t apart, int64_t k,
                       int64_t wide, int64_t there, int64_t size) {
	if (size == 8) PACK_APART(double);
	else PACK_APART(float);
}

/* Packs panels of `wide` columns out of n, with k lines each; panels are
 * `lines` long. A transposing pack writes some lines past a panel's end, which
 * the next panel overwrites. After the last one there is space. */
static void pack(const NativeTiles *t, char *o, const void *data, int64_t step, int64_t apart,
                 int64_t k, int64_t lines, int64_t n, int64_t wide, int64_t size) {
	const char *from = data;
	/* Some lines from one end to the other, as they are in memory. */
	for (int64_t p = 0; apart == 1 && p < k; p += LINES)
		for (int64_t j = 0; j < n; j += wide)
			pack_lines(o + (j * lines + p * wide) * size, from + (p * step + j) * size, step * size,
			           k - p < LINES ? k - p : LINES, wide, n - j < wide ? n - j : wide, size);
	for (int64_t j = 0; apart != 1 && j < n;
	     j += wide, o += wide * lines * size, from += wide * apart * size) {
		const int64_t there = n - j < wide ? n - j : wide;
		if (step == 1) t->transpose(o, from, apart * size, there, wide, k);
		else pack_apart(o, from, step, apart, k, wide, there, size);
	}
}

/* A chunk packs this many lines of all panels. */
enum { PACK_LINES_IN_PART = 64 };

int64_t tiles_packs(int64_t k) { return (k + PACK_LINES_IN_PART - 1) / PACK_LINES_IN_PART; }

void tiles_pack(const NativeTiles *t, int64_t size, int64_t n, int64_t k, BlasMatrix b,
                int64_t part, char *panels) {
	const int64_t first = part * PACK_LINES_IN_PART, p = first / TILES_DEPTH * TILES_DEPTH,
				  depth = k - p < TILES_DEPTH ? k - p : TILES_DEPTH;
	int64_t lines = k - first < PACK_LINES_IN_PART ? k - first : PACK_LINES_IN_PART;
	/* A transposing pack writes into the next panel, so the first chunk packs
	 * all panels in order. */
	if (depth % t->lanes) {
		if (first != p) return;
		lines = depth;
	}
	const char *from = (const char *)b.data + first * b.row_stride * size;
	pack(t, panels + (panel_at(t, size, n, p, depth, 0) + (first - p) * t->columns * size), from,
	     b.row_stride, b.column_stride, lines, depth, n, t->columns, size);
}

bool tiles_read(int64_t size, int64_t n, int64_t k, BlasMatrix b) {
	return b.column_stride == 1 &&
	       (double)n * (double)k * (double)size <= 4.0 * (double)native_target()->l2_bytes;
}

/* Multiplies one tile's rows by the panel at column j. Where the last panel
 * lacks a whole vector of columns or more, it proceeds vector by vector. The
 * operands are scalars, not structures. Compilers move a structure two words at
 * a time through vector registers, which waits for the last tile's sums. */
static void tile(const NativeTiles *t, int64_t size, int64_t rows, int64_t n, int64_t depth,
                 int64_t j, const char *a, int64_t a_row, int64_t a_step, const char *b,
                 int64_t b_step, char *o, int64_t leading, bool add) {
	const int64_t left = n - j;
	if (left > t->columns - t->lanes) {
		(left < t->columns ? t->ragged : t->whole)(o, leading * size, size, a, a_row, a_step, b,
		                                           b_step, rows, depth, left, add, 1, NULL);
		return;
	}
	for (int64_t v = 0; v < left; v += t->lanes)
		t->single(o + v * size, leading * size, size, a, a_row, a_step, b + v * size, b_step, rows,
		          depth, left - v, add, 1, NULL);
}

void tiles_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t n,
                   int64_t k, BlasMatrix a, BlasMatrix b, const char *panels, char *o,
                   int64_t leading, bool accumulate, char *room) {
	const bool packed = a.column_stride != 1;
	const int64_t at_once = packed ? t->rows : BLOCK_ROWS;
	const int64_t a_row = packed ? size : a.row_stride * size,
				  a_step = packed ? t->lanes * size : size,
				  b_step = panels ? t->columns * size : b.row_stride * size;
	for (int64_t p = 0; p < k; p += TILES_DEPTH) {
		const int64_t depth = k - p < TILES_DEPTH ? k - p : TILES_DEPTH;
		for (int64_t i = 0; i < m; i += BLOCK_ROWS) {
			if (ctx_interrupted(c)) return;
			const int64_t high = m - i < BLOCK_ROWS ? m - i : BLOCK_ROWS;
			const char *rows =
				(const char *)a.data + (i * a.row_stride + p * a.column_stride) * size;
			if (packed)
				pack(t, room, rows, a.column_stride, a.row_stride, depth, depth, high, t->lanes,
				     size);
			for (int64_t j = 0; j < n; j += t->columns) {
				const char *of_b = panels ? panels + panel_at(t, size, n, p, depth, j)
				                          : (const char *)b.data + (p * b.row_stride + j) * size;
				for (int64_t r = 0; r < high; r += at_once) {
					const char *of_a =
						packed ? room + (r / t->lanes * t->lanes * depth + r % t->lanes) * size
							   : rows + r * a_row;
					tile(t, size, high - r < at_once ? high - r : at_once, n, depth, j, of_a, a_row,
					     a_step, of_b, b_step, o + ((i + r) * leading + j) * size, leading,
					     accumulate || p);
				}
			}
		}
	}
}

/* ---- a matrix by its own transpose --------------------------------------- */

int64_t tiles_own_parts(const NativeTiles *t, int64_t m) {
	const int64_t high = TILES_OWN_ROWS, wide = up(TILES_OWN_COLUMNS, t->columns);
	int64_t parts = 0;
	for (int64_t i = 0; i < m; i += high)
		parts += ((i + high < m ? i + high : m) + wide - 1) / wide;
	return parts;
}

TilesBlock tiles_own_block(const NativeTiles *t, int64_t m, int64_t part) {
	const int64_t wide = up(TILES_OWN_COLUMNS, t->columns);
	int64_t i = (m - 1) / TILES_OWN_ROWS * TILES_OWN_ROWS;
	for (;; i -= TILES_OWN_ROWS) {
		const int64_t end = i + TILES_OWN_ROWS < m ? i + TILES_OWN_ROWS : m,
					  across = (end + wide - 1) / wide;
		if (part >= across) {
			part -= across;
			continue;
		}
		return (TilesBlock){i, end, part * wide, (part + 1) * wide < end ? (part + 1) * wide : end};
	}
}

void tiles_own_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t k,
                       TilesBlock b, const char *panels, char *o, int64_t leading,
                       bool accumulate) {
	for (int64_t p = 0; p < k; p += TILES_DEPTH) {
		const int64_t depth = k - p < TILES_DEPTH ? k - p : TILES_DEPTH;
		if (ctx_interrupted(c)) return;
		for (int64_t j = b.column; j < b.columns_end; j += t->columns)
			for (int64_t r = j > b.row ? j : b.row; r < b.rows_end; r += t->rows)
				tile(t, size, b.rows_end - r < t->rows ? b.rows_end - r : t->rows, m, depth, j,
				     panels + panel_at(t, size, m, p, depth, r / t->columns * t->columns) +
				         r % t->columns * size,
				     size, t->columns * size, panels + panel_at(t, size, m, p, depth, j),
				     t->columns * size, o + (r * leading + j) * size, leading, accumulate || p);
	}
}
