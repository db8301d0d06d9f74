/* colouring.c - partitions of columns and rows for compressed derivatives, and greedy colourings that find them.
 *
 * Needs: colouring.h. Guarantees: as stated there; time proportional to the sum of the squares of the numbers of elements in rows (of the degrees,
 * where symmetric), and a poll for interrupts in each column.
 *
 * The methods are those of A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your Jacobian? Graph coloring for computing derivatives",
 * SIAM Review 47 (2005): partial distance-2 colouring of columns, and star colouring for the Hessian (an adjacent vertex has another colour, and no
 * path of four vertices has two colours only). Greedy, in the order of the columns and smallest-last; the better one counts. ColPack has these and
 * more; it is C++ with an allocator and a standard output of its own, and what is needed here is two short loops.
 */
#include "autodiff/colouring.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL = 256 };

static void *words(Ctx *c, int64_t n, size_t size) {
	return heap_alloc(c, (size_t)(n + 1) * size);
}

static void give_back(Ctx *c, void *p, int64_t n, size_t size) {
	if (p) heap_free(c, p, (size_t)(n + 1) * size);
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

void row_pattern_free(Ctx *c, RowPattern *p) {
	if (p->start) heap_free(c, p->start, p->start_bytes);
	if (p->column) heap_free(c, p->column, p->column_bytes);
	*p = (RowPattern){0};
}

static Status row_pattern_new(Ctx *c, int64_t m, int64_t n, int64_t nnz, RowPattern *p) {
	*p = (RowPattern){.m = m, .n = n, .start_bytes = (size_t)(m + 2) * sizeof *p->start, .column_bytes = (size_t)(nnz + 1) * sizeof *p->column};
	p->start = heap_alloc(c, p->start_bytes);
	p->column = heap_alloc(c, p->column_bytes);
	if (p->start && p->column) return ST_OK;
	row_pattern_free(c, p);
	return ST_NOMEM;
}

Status row_pattern_transposed(Ctx *c, const RowPattern *p, RowPattern *out) {
	const int64_t nnz = p->start[p->m];
	Status st = row_pattern_new(c, p->n, p->m, nnz, out);
	if (st != ST_OK) return st;
	memset(out->start, 0, out->start_bytes);
	for (int64_t k = 0; k < nnz; k++) out->start[p->column[k] + 1]++;
	for (int64_t j = 0; j < p->n; j++) out->start[j + 1] += out->start[j];
	for (int64_t i = 0; i < p->m; i++) /* start[j] runs through column j, and ends where the next begins */
		for (int64_t k = p->start[i]; k < p->start[i + 1]; k++) out->column[out->start[p->column[k]]++] = (int32_t)i;
	for (int64_t j = p->n; j > 0; j--) out->start[j] = out->start[j - 1];
	out->start[0] = 0;
	return ST_OK;
}

Status row_pattern_symmetric(Ctx *c, const RowPattern *p, RowPattern *out) {
	RowPattern t;
	Status st = row_pattern_transposed(c, p, &t);
	if (st != ST_OK) return st;
	st = row_pattern_new(c, p->m, p->n, p->start[p->m], out);
	int64_t n = 0;
	for (int64_t i = 0; st == ST_OK && i < p->m; i++) {
		out->start[i] = n;
		for (int64_t k = p->start[i], l = t.start[i]; k < p->start[i + 1] && l < t.start[i + 1];) {
			const int32_t a = p->column[k], b = t.column[l];
			if (a == b) out->column[n++] = a;
			k += a <= b;
			l += b <= a;
		}
		out->start[i + 1] = n;
	}
	if (st == ST_OK && !p->m) out->start[0] = 0;
	row_pattern_free(c, &t);
	return st;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/* Smallest-last: the vertex with the fewest neighbours among those that are left goes to the end, again and again. The degree of a vertex is
 * counted with repeats: `rows` by column and `columns` by row say who its neighbours are. Buckets of doubly linked lists (Matula and Beck 1983). */
static Status smallest_last(Ctx *c, const RowPattern *rows, const RowPattern *columns, const int64_t *skip, int64_t *order) {
	const int64_t n = rows->m;
	int64_t *degree = words(c, n, sizeof *degree), *next = words(c, n, sizeof *next), *prev = words(c, n, sizeof *prev), most = 0;
	Status st = degree && next && prev ? ST_OK : ST_NOMEM;
	int64_t *head = NULL;
	for (int64_t j = 0; st == ST_OK && j < n; j++) {
		degree[j] = 0;
		for (int64_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
			const int64_t i = rows->column[k];
			if (!skip || skip[i] < 0) degree[j] += columns->start[i + 1] - columns->start[i] - 1;
		}
		if (degree[j] > most) most = degree[j];
	}
	if (st == ST_OK && !(head = words(c, most + 1, sizeof *head))) st = ST_NOMEM;
	if (st == ST_OK) {
		for (int64_t d = 0; d <= most; d++) head[d] = -1;
		for (int64_t j = n - 1; j >= 0; j--) {
			next[j] = head[degree[j]];
			prev[j] = -1;
			if (next[j] >= 0) prev[next[j]] = j;
			head[degree[j]] = j;
		}
		int64_t low = 0;
		for (int64_t at = n; at-- > 0 && st == ST_OK;) {
			while (head[low] < 0) low++;
			const int64_t j = head[low];
			head[low] = next[j];
			if (next[j] >= 0) prev[next[j]] = -1;
			degree[j] = -1;
			order[at] = j;
			for (int64_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
				const int64_t i = rows->column[k];
				if (skip && skip[i] >= 0) continue;
				for (int64_t l = columns->start[i]; l < columns->start[i + 1]; l++) {
					const int64_t w = columns->column[l];
					if (degree[w] <= 0) continue;
					if (prev[w] >= 0) next[prev[w]] = next[w];
					else head[degree[w]] = next[w];
					if (next[w] >= 0) prev[next[w]] = prev[w];
					const int64_t d = --degree[w];
					next[w] = head[d];
					prev[w] = -1;
					if (next[w] >= 0) prev[next[w]] = w;
					head[d] = w;
					if (d < low) low = d;
				}
			}
			st = ctx_poll(c, 1);
		}
	}
	if (head) give_back(c, head, most + 1, sizeof *head);
	give_back(c, degree, n, sizeof *degree);
	give_back(c, next, n, sizeof *next);
	give_back(c, prev, n, sizeof *prev);
	return st;
}

/* ---- partial distance-2 colouring -------------------------------------------------------------------------------- */

/* Colours the vertices (the rows of `rows`) so that no two of one colour meet in a row of `columns`; rows with skip[i] >= 0 do not count, nor
 * do vertices with only[v] < 0. order NULL: as they come. Gives the number of colours. */
static Status distance_two(Ctx *c, const RowPattern *rows, const RowPattern *columns, const int64_t *skip, const int64_t *only, const int64_t *order,
                           int64_t *colour, int64_t *ncolours) {
	const int64_t n = rows->m;
	int64_t *forbidden = words(c, n, sizeof *forbidden);
	if (!forbidden) return ST_NOMEM;
	Status st = ST_OK;
	*ncolours = 0;
	for (int64_t v = 0; v < n; v++) forbidden[v] = colour[v] = -1;
	for (int64_t at = 0; at < n && st == ST_OK; at++) {
		const int64_t v = order ? order[at] : at;
		if (only && only[v] < 0) continue;
		for (int64_t k = rows->start[v]; k < rows->start[v + 1]; k++) {
			const int64_t i = rows->column[k];
			if (skip && skip[i] >= 0) continue;
			for (int64_t l = columns->start[i]; l < columns->start[i + 1]; l++) {
				const int64_t w = colour[columns->column[l]];
				if (w >= 0) forbidden[w] = v;
			}
		}
		int64_t free_one = 0;
		while (free_one < *ncolours && forbidden[free_one] == v) free_one++;
		colour[v] = free_one;
		if (free_one == *ncolours) ++*ncolours;
		st = ctx_poll(c, 1);
	}
	give_back(c, forbidden, n, sizeof *forbidden);
	return st;
}

/* The better of two orders; at least `least` colours are needed in any. */
static Status colour_well(Ctx *c, const RowPattern *rows, const RowPattern *columns, const int64_t *skip, const int64_t *only, int64_t least, int64_t *colour,
                          int64_t *ncolours) {
	const int64_t n = rows->m;
	if (!only && n > SMALL && 2 * least > n) { /* little can be saved, and looking for it would take long */
		for (int64_t v = 0; v < n; v++) colour[v] = v;
		*ncolours = n;
		return ST_OK;
	}
	Status st = distance_two(c, rows, columns, skip, only, NULL, colour, ncolours);
	if (st != ST_OK || *ncolours <= least) return st;
	int64_t *order = words(c, n, sizeof *order), *other = words(c, n, sizeof *other), count;
	st = order && other ? smallest_last(c, rows, columns, skip, order) : ST_NOMEM;
	if (st == ST_OK) st = distance_two(c, rows, columns, skip, only, order, other, &count);
	if (st == ST_OK && count < *ncolours) {
		memcpy(colour, other, (size_t)n * sizeof *colour);
		*ncolours = count;
	}
	give_back(c, order, n, sizeof *order);
	give_back(c, other, n, sizeof *other);
	return st;
}

/* ---- general matrices -------------------------------------------------------------------------------------------- */

void colouring_free(Ctx *c, Colouring *k) {
	give_back(c, k->column, k->n, sizeof *k->column);
	give_back(c, k->row, k->m, sizeof *k->row);
	give_back(c, k->place, k->nplace, sizeof *k->place);
	*k = (Colouring){0};
}

static Status colouring_new(Ctx *c, const RowPattern *p, Colouring *out) {
	*out = (Colouring){.m = p->m, .n = p->n, .nplace = p->start[p->m]};
	out->column = words(c, out->n, sizeof *out->column);
	out->row = words(c, out->m, sizeof *out->row);
	out->place = words(c, out->nplace, sizeof *out->place);
	if (out->column && out->row && out->place) return ST_OK;
	colouring_free(c, out);
	return ST_NOMEM;
}

/* Rows to be had by themselves: those with more than `most` elements, where k such rows cost 2k (a product with the transpose is dearer) and the
 * others at least `most` products. row[i]: 0 for those, else -1. Gives how many. */
static Status heavy_rows(Ctx *c, const RowPattern *p, int64_t *row, int64_t *most) {
	int64_t *rows_with = words(c, p->n + 1, sizeof *rows_with), above = 0, best = INT64_MAX;
	if (!rows_with) return ST_NOMEM;
	memset(rows_with, 0, (size_t)(p->n + 2) * sizeof *rows_with);
	for (int64_t i = 0; i < p->m; i++) rows_with[p->start[i + 1] - p->start[i]]++;
	*most = 0;
	for (int64_t d = p->n; d >= 0; d--) {
		const bool some = rows_with[d] > 0 || !d;
		if (some && 2 * above + d < best) {
			best = 2 * above + d;
			*most = d;
		}
		above += rows_with[d];
	}
	for (int64_t i = 0; i < p->m; i++) row[i] = p->start[i + 1] - p->start[i] > *most ? 0 : -1;
	give_back(c, rows_with, p->n + 1, sizeof *rows_with);
	return ST_OK;
}

Status colour_general(Ctx *c, const RowPattern *p, const RowPattern *t, Colouring *out) {
	Status st = colouring_new(c, p, out);
	int64_t most = 0, heavy = 0;
	if (st == ST_OK) st = heavy_rows(c, p, out->row, &most);
	if (st == ST_OK) st = colour_well(c, t, p, out->row, NULL, most, out->column, &out->p);
	for (int64_t i = 0; st == ST_OK && i < p->m; i++) heavy += out->row[i] >= 0;
	if (st == ST_OK && heavy) {
		int64_t *only = words(c, p->m, sizeof *only);
		if (!only) st = ST_NOMEM;
		else {
			memcpy(only, out->row, (size_t)p->m * sizeof *only);
			st = distance_two(c, p, t, NULL, only, NULL, out->row, &out->q);
			give_back(c, only, p->m, sizeof *only);
		}
	}
	if (st != ST_OK) {
		if (out->column) colouring_free(c, out);
		return st;
	}
	for (int64_t j = 0, k = 0; j < p->n; j++) {
		for (; k < t->start[j + 1]; k++) {
			const int64_t i = t->column[k];
			out->place[k] = out->row[i] < 0 ? out->column[j] * p->m + i : out->p * p->m + out->row[i] * p->n + j;
		}
	}
	return ST_OK;
}

/* ---- symmetric matrices ------------------------------------------------------------------------------------------ */

/* How many neighbours of a vertex have a colour: a hash table from (vertex, colour), open addressing. */
typedef struct Counts {
	int64_t *key; /* vertex * n + colour + 1; 0: free */
	int32_t *count;
	int64_t slots;
} Counts;

static int32_t *count_at(Counts *t, int64_t key) {
	int64_t i = (int64_t)(((uint64_t)key * 0x9e3779b97f4a7c15u) >> 20) & (t->slots - 1);
	while (t->key[i] && t->key[i] != key) i = (i + 1) & (t->slots - 1);
	t->key[i] = key;
	return &t->count[i];
}

static Status star_colours(Ctx *c, const RowPattern *p, const int64_t *order, int64_t *colour, int64_t *ncolours) {
	const int64_t n = p->n;
	Counts t = {.slots = 1024};
	while (t.slots < 2 * p->start[n] + 1024) t.slots *= 2;
	t.key = words(c, t.slots, sizeof *t.key);
	t.count = words(c, t.slots, sizeof *t.count);
	int64_t *forbidden = words(c, n, sizeof *forbidden), *seen = words(c, n, sizeof *seen);
	bool *twice = words(c, n, sizeof *twice);
	Status st = t.key && t.count && forbidden && seen && twice ? ST_OK : ST_NOMEM;
	if (st == ST_OK) {
		memset(t.key, 0, (size_t)t.slots * sizeof *t.key);
		memset(t.count, 0, (size_t)t.slots * sizeof *t.count);
		for (int64_t v = 0; v < n; v++) forbidden[v] = seen[v] = colour[v] = -1;
	}
	*ncolours = 0;
	for (int64_t at = 0; at < n && st == ST_OK; at++) {
		const int64_t v = order ? order[at] : at;
		const int32_t *first = p->column + p->start[v], *end = p->column + p->start[v + 1];
		for (const int32_t *w = first; w < end; w++) { /* colours that two neighbours have */
			const int64_t k = *w == v ? -1 : colour[*w];
			if (k < 0) continue;
			twice[k] = seen[k] == v;
			seen[k] = v;
			forbidden[k] = v;
		}
		for (const int32_t *w = first; w < end; w++) {
			const int64_t k = *w == v ? -1 : colour[*w];
			if (k < 0) continue;
			for (int64_t l = p->start[*w]; l < p->start[*w + 1]; l++) {
				const int64_t x = p->column[l];
				if (x == v || x == *w || colour[x] < 0 || forbidden[colour[x]] == v) continue;
				/* w' - v - w - x with w' like w, or v - w - x - y with y like w */
				if (twice[k] || *count_at(&t, x * n + k + 1) > 1) forbidden[colour[x]] = v;
			}
		}
		int64_t free_one = 0;
		while (free_one < *ncolours && forbidden[free_one] == v) free_one++;
		colour[v] = free_one;
		if (free_one == *ncolours) ++*ncolours;
		for (const int32_t *w = first; w < end; w++)
			if (*w != v) ++*count_at(&t, *w * n + free_one + 1);
		st = ctx_poll(c, 1);
	}
	give_back(c, t.key, t.slots, sizeof *t.key);
	give_back(c, t.count, t.slots, sizeof *t.count);
	give_back(c, forbidden, n, sizeof *forbidden);
	give_back(c, seen, n, sizeof *seen);
	give_back(c, twice, n, sizeof *twice);
	return st;
}

/* An element is had from the product with its column's colour, unless another column of that colour meets its row: then from its mirror image. */
static Status star_places(Ctx *c, const RowPattern *p, Colouring *out) {
	int64_t *met = words(c, out->p, sizeof *met), *how_often = words(c, out->p, sizeof *how_often);
	if (met && how_often) {
		for (int64_t k = 0; k < out->p; k++) met[k] = -1;
		for (int64_t i = 0; i < p->m; i++) {
			for (int64_t l = p->start[i]; l < p->start[i + 1]; l++) {
				const int64_t k = out->column[p->column[l]];
				how_often[k] = met[k] == i ? how_often[k] + 1 : 1;
				met[k] = i;
			}
			for (int64_t l = p->start[i]; l < p->start[i + 1]; l++) { /* element (j, i) of column i: its mirror image is (i, j) */
				const int64_t j = p->column[l], k = out->column[j];
				out->place[l] = how_often[k] == 1 ? k * p->m + i : out->column[i] * p->m + j;
			}
		}
	}
	give_back(c, met, out->p, sizeof *met);
	give_back(c, how_often, out->p, sizeof *how_often);
	return met && how_often ? ST_OK : ST_NOMEM;
}

Status colour_symmetric(Ctx *c, const RowPattern *p, Colouring *out) {
	Status st = colouring_new(c, p, out);
	if (st != ST_OK) return st;
	int64_t *order = words(c, p->n, sizeof *order), *other = words(c, p->n, sizeof *other), count = 0;
	if (!order || !other) st = ST_NOMEM;
	if (st == ST_OK) st = star_colours(c, p, NULL, out->column, &out->p);
	if (st == ST_OK) st = smallest_last(c, p, p, NULL, order);
	if (st == ST_OK) st = star_colours(c, p, order, other, &count);
	if (st == ST_OK && count < out->p) {
		memcpy(out->column, other, (size_t)p->n * sizeof *other);
		out->p = count;
	}
	for (int64_t i = 0; st == ST_OK && i < p->m; i++) out->row[i] = -1;
	if (st == ST_OK) st = star_places(c, p, out);
	give_back(c, order, p->n, sizeof *order);
	give_back(c, other, p->n, sizeof *other);
	if (st != ST_OK) colouring_free(c, out);
	return st;
}
