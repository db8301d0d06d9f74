/* tiles.c - a large product of matrices by the code generator's register tiles.
 *
 * Needs: tiles.h, target.h for the caches. Guarantees: what tiles.h says.
 *
 * Of B a block of TILES_DEPTH rows is packed panel by panel, each as wide as a tile; then blocks of A's rows, which stay in the second cache beside it, a vector's length of
 * them with a column as neighbours, and pass all panels. So whatever the strides were, tiles read two streams. Measured on a Zen 5 (one thread, f64, of a peak of 114 Gflop/s):
 * depths of 128, 192 and 256: 102, 100 and 100 at n = 1032, 91 to 97 at 2064; panels of 2 vectors instead of 3: 96; all columns in one part, so that B comes from
 * the third cache: 94 to 101, and less beside other programs.
 */
#include "backend/native/tiles.h"
#include "backend/native/target.h"
#include <string.h>

enum { BLOCK_ROWS = 96 /* a multiple of all lanes */, LINES = 8 };

static int64_t up(int64_t x, int64_t unit) {
	return (x + unit - 1) / unit * unit;
}

int64_t tiles_columns(const NativeTiles *t, int64_t size) {
	const int64_t fit = native_target()->l2_bytes / (TILES_DEPTH * size);
	return up(fit < 256 ? 256 : fit, t->columns);
}

/* The packed rows of A come first. Behind both there is room for what is turned. */
static int64_t a_room(const NativeTiles *t, int64_t size) {
	return (BLOCK_ROWS * TILES_DEPTH + t->lanes * t->lanes) * size;
}

int64_t tiles_room(const NativeTiles *t, int64_t size, int64_t columns) {
	return a_room(t, size) + up(columns, t->columns) * TILES_DEPTH * size + t->lanes * t->columns * size;
}

/* `wide` neighbours of each of k lines that are `step` bytes apart, one line after the other; past the first `there` of them 0. */
#define PACK_LINES(BYTES)                                                                                    \
	for (int64_t p = 0; p < k; p++, o += (BYTES), from += step) memcpy(o, from, (BYTES))
static void pack_lines(char *o, const char *from, int64_t step, int64_t k, int64_t wide, int64_t there, int64_t size) {
	if (there < wide) {
		memset(o, 0, (size_t)(k * wide * size));
		for (int64_t p = 0; p < k; p++, o += wide * size, from += step) memcpy(o, from, (size_t)(there * size));
		return;
	}
	switch (wide * size) { /* what tiles have */
	case 64: PACK_LINES(64); break;
	case 192: PACK_LINES(192); break;
	default: PACK_LINES((size_t)(wide * size));
	}
}

/* The same for any strides. */
#define PACK_APART(T)                                                                                        \
	for (int64_t p = 0; p < k; p++)                                                                          \
		for (int64_t j = 0; j < wide; j++) ((T *)(void *)o)[p * wide + j] = j < there ? ((const T *)(const void *)from)[p * step + j * apart] : 0
static void pack_apart(char *o, const char *from, int64_t step, int64_t apart, int64_t k, int64_t wide, int64_t there, int64_t size) {
	if (size == 8) PACK_APART(double);
	else PACK_APART(float);
}

/* Panels of `wide` out of n, each k lines. A panel that is turned writes into the next one's memory, which comes later; for the last one
 * there is room. */
static void pack(const NativeTiles *t, char *o, const void *data, int64_t step, int64_t apart, int64_t k, int64_t n, int64_t wide, int64_t size) {
	const char *from = data;
	/* a few lines from one end to the other, as they lie in memory */
	for (int64_t p = 0; apart == 1 && p < k; p += LINES)
		for (int64_t j = 0; j < n; j += wide)
			pack_lines(o + (j * k + p * wide) * size, from + (p * step + j) * size, step * size, k - p < LINES ? k - p : LINES, wide, n - j < wide ? n - j : wide, size);
	for (int64_t j = 0; apart != 1 && j < n; j += wide, o += wide * k * size, from += wide * apart * size) {
		const int64_t there = n - j < wide ? n - j : wide;
		if (step == 1) t->turn(o, from, apart * size, there, wide, k);
		else pack_apart(o, from, step, apart, k, wide, there, size);
	}
}

void tiles_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t n, int64_t k, BlasMatrix a, BlasMatrix b, char *o, int64_t leading, bool accumulate,
                   char *room) {
	char *const rows = room, *const panels = room + a_room(t, size);
	for (int64_t p = 0; p < k; p += TILES_DEPTH) {
		const int64_t depth = k - p < TILES_DEPTH ? k - p : TILES_DEPTH;
		pack(t, panels, (const char *)b.data + p * b.row_stride * size, b.row_stride, b.column_stride, depth, n, t->columns, size);
		for (int64_t i = 0; i < m; i += BLOCK_ROWS) {
			if (ctx_interrupted(c)) return;
			const int64_t high = m - i < BLOCK_ROWS ? m - i : BLOCK_ROWS;
			pack(t, rows, (const char *)a.data + (i * a.row_stride + p * a.column_stride) * size, a.column_stride, a.row_stride, depth, high, t->lanes, size);
			for (int64_t j = 0; j < n; j += t->columns) {
				const NativePanel panel = n - j < t->columns ? t->ragged : t->whole;
				const char *of_b = panels + j * depth * size;
				for (int64_t r = 0; r < high; r += t->rows) {
					const char *of_a = rows + (r / t->lanes * t->lanes * depth + r % t->lanes) * size;
					panel(o + ((i + r) * leading + j) * size, leading * size, size, of_a, size, t->lanes * size, of_b, t->columns * size, high - r < t->rows ? high - r : t->rows,
					      depth, n - j, accumulate || p, 1);
				}
			}
		}
	}
}

/* ---- a matrix by its own transpose ------------------------------------------------------------------------------------------------------------- */

int64_t tiles_own_room(const NativeTiles *t, int64_t size, int64_t m) {
	return (up(m, t->columns) * TILES_OWN_DEPTH + t->lanes * t->columns) * size;
}

/* Of each block of depth in turn, all panels. */
static char *own_panel(const NativeTiles *t, int64_t size, int64_t m, int64_t p, int64_t depth, int64_t j, char *room) {
	return room + (p * up(m, t->columns) + j * depth) * size;
}

int64_t tiles_own_parts(const NativeTiles *t, int64_t m) {
	const int64_t high = TILES_OWN_ROWS, wide = up(TILES_OWN_COLUMNS, t->columns);
	int64_t parts = 0;
	for (int64_t i = 0; i < m; i += high) parts += ((i + high < m ? i + high : m) + wide - 1) / wide;
	return parts;
}

void tiles_own_pack(const NativeTiles *t, int64_t size, int64_t m, int64_t k, BlasMatrix a, int64_t part, char *room) {
	const int64_t p = part * TILES_DEPTH, depth = k - p < TILES_DEPTH ? k - p : TILES_DEPTH;
	if (depth > 0) pack(t, own_panel(t, size, m, p, depth, 0, room), (const char *)a.data + p * a.column_stride * size, a.column_stride, a.row_stride, depth, m, t->columns, size);
}

TilesBlock tiles_own_block(const NativeTiles *t, int64_t m, int64_t part) {
	const int64_t wide = up(TILES_OWN_COLUMNS, t->columns);
	int64_t i = (m - 1) / TILES_OWN_ROWS * TILES_OWN_ROWS;
	for (;; i -= TILES_OWN_ROWS) {
		const int64_t end = i + TILES_OWN_ROWS < m ? i + TILES_OWN_ROWS : m, across = (end + wide - 1) / wide;
		if (part >= across) {
			part -= across;
			continue;
		}
		return (TilesBlock){i, end, part * wide, (part + 1) * wide < end ? (part + 1) * wide : end};
	}
}

void tiles_own_product(const Ctx *c, const NativeTiles *t, int64_t size, int64_t m, int64_t k, TilesBlock b, const char *room, char *o, int64_t leading, bool accumulate) {
	for (int64_t p = 0; p < k; p += TILES_DEPTH) {
		const int64_t depth = k - p < TILES_DEPTH ? k - p : TILES_DEPTH;
		if (ctx_interrupted(c)) return;
		for (int64_t j = b.column; j < b.columns_end; j += t->columns) {
			const char *of_b = own_panel(t, size, m, p, depth, j, (char *)room);
			for (int64_t r = j > b.row ? j : b.row; r < b.rows_end; r += t->rows) {
				const char *of_a = own_panel(t, size, m, p, depth, r / t->columns * t->columns, (char *)room) + r % t->columns * size;
				(m - j < t->columns ? t->ragged : t->whole)(o + (r * leading + j) * size, leading * size, size, of_a, size, t->columns * size, of_b, t->columns * size,
				                                            b.rows_end - r < t->rows ? b.rows_end - r : t->rows, depth, m - j, accumulate || p, 1);
			}
		}
	}
}
