/* colouring.c - partitions of columns and rows for compressed derivatives, by
 * greedy colouring.
 *
 * Method: A. H. Gebremedhin, F. Manne and A. Pothen, "What color is your
 * Jacobian? Graph coloring for computing derivatives", SIAM Review 47 (2005).
 * General matrices use partial distance-2 colouring of columns and of rows.
 * Hessians use star colouring (adjacent vertices differ in colour, and no path
 * of four vertices has only two colours) or acyclic colouring (no cycle has
 * only two colours). The greedy acyclic colouring with disjoint sets of edges
 * is that of Gebremedhin, Tarafdar, Manne and Pothen, SIAM J. Sci. Comput. 29
 * (2007). Each is tried in the natural order and smallest-last; the better one
 * is used.
 *
 * ColPack has these and more. It is not used, since it is C++ with its own
 * allocator and standard output, and the part needed here is small.
 *
 * Needs: colouring.h.
 *
 * Contract:
 * - As in colouring.h.
 * - Time is proportional to the sum of the squares of the numbers of elements
 *   in rows (of the degrees, if symmetric). Interrupts are polled in each
 *   column.
 */
#include "autodiff/sparse/colouring.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL = 256 };

static void *words(Ctx *c, int64_t n, size_t size) { return heap_alloc(c, (size_t)(n + 1) * size); }

static void give_back(Ctx *c, void *p, int64_t n, size_t size) {
	if (p) heap_free(c, p, (size_t)(n + 1) * size);
}

/* ---- patterns ------------------------------------------------------------ */

void row_pattern_free(Ctx *c, RowPattern *p) {
	if (p->start) heap_free(c, p->start, p->start_bytes);
	if (p->column) heap_free(c, p->column, p->column_bytes);
	*p = (RowPattern){0};
}

static Status row_pattern_new(Ctx *c, int64_t m, int64_t n, int64_t nnz, RowPattern *p) {
	*p = (RowPattern){.m = m,
	                  .n = n,
	                  .start_bytes = (size_t)(m + 2) * sizeof *p->start,
	                  .column_bytes = (size_t)(nnz + 1) * sizeof *p->column};
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
	/* start[j] advances through column j and ends where the next begins. */
	for (int64_t i = 0; i < p->m; i++)
		for (int64_t k = p->start[i]; k < p->start[i + 1]; k++)
			out->column[out->start[p->column[k]]++] = (int32_t)i;
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

/* ---- orders -------------------------------------------------------------- */

/* Smallest-last order: repeatedly puts the remaining vertex with the fewest
 * remaining neighbours at the end. Neighbours share a row, as given by `rows`
 * by column and `columns` by row; degrees count repeats. With columns NULL the
 * neighbours are the entries of the vertex's own row. Uses buckets of doubly
 * linked lists (Matula and Beck 1983). */
static Status smallest_last(Ctx *c, const RowPattern *rows, const RowPattern *columns,
                            const int64_t *skip, int64_t *order) {
	const int64_t n = rows->m;
	int64_t *degree = words(c, n, sizeof *degree), *next = words(c, n, sizeof *next),
			*prev = words(c, n, sizeof *prev), most = 0;
	Status st = degree && next && prev ? ST_OK : ST_NOMEM;
	int64_t *head = NULL;
	for (int64_t j = 0; st == ST_OK && j < n; j++) {
		degree[j] = 0;
		for (int64_t k = rows->start[j]; k < rows->start[j + 1]; k++) {
			const int64_t i = rows->column[k];
			if (!skip || skip[i] < 0)
				degree[j] += columns ? columns->start[i + 1] - columns->start[i] - 1 : i != j;
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
				for (int64_t l = columns ? columns->start[i] : 0,
				             end = columns ? columns->start[i + 1] : 1;
				     l < end; l++) {
					const int64_t w = columns ? columns->column[l] : i;
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

/* ---- partial distance-2 colouring ---------------------------------------- */

/* Colours the vertices (the rows of `rows`) so that no two of one colour meet
 * in a row of `columns`. Rows with skip[i] >= 0 and vertices with only[v] < 0
 * are ignored. order NULL: the natural order. *ncolours receives the number of
 * colours. */
static Status distance_two(Ctx *c, const RowPattern *rows, const RowPattern *columns,
                           const int64_t *skip, const int64_t *only, const int64_t *order,
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

/* The better of two orders. `least` is a lower bound on the number of
 * colours. */
static Status colour_well(Ctx *c, const RowPattern *rows, const RowPattern *columns,
                          const int64_t *skip, const int64_t *only, int64_t least, int64_t *colour,
                          int64_t *ncolours) {
	const int64_t n = rows->m;
	/* Little can be saved, and the search would take long. */
	if (!only && n > SMALL && 2 * least > n) {
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

/* ---- general matrices ---------------------------------------------------- */

void colouring_free(Ctx *c, Colouring *k) {
	give_back(c, k->column, k->n, sizeof *k->column);
	give_back(c, k->row, k->m, sizeof *k->row);
	give_back(c, k->place, k->nplace, sizeof *k->place);
	give_back(c, k->term, k->nsums, sizeof *k->term);
	give_back(c, k->part_of, k->nsums, sizeof *k->part_of);
	*k = (Colouring){0};
}

static Status colouring_new(Ctx *c, const RowPattern *p, Colouring *out) {
	*out = (Colouring){.m = p->m, .n = p->n, .nplace = p->start[p->m], .most_terms = 1};
	out->column = words(c, out->n, sizeof *out->column);
	out->row = words(c, out->m, sizeof *out->row);
	out->place = words(c, out->nplace, sizeof *out->place);
	if (out->column && out->row && out->place) return ST_OK;
	colouring_free(c, out);
	return ST_NOMEM;
}

#define ROW_COST 2 /* of a product with the transpose, relative to one with the matrix */
enum { TRIED = 4 };

/* A partition of the work: rows with more than `most` elements are recovered
 * from the transpose. `least` is a lower bound on its cost. */
typedef struct Partition {
	int64_t most, least;
} Partition;

/* Selects the partitions that may be cheapest: none by rows, all by rows, and
 * the best two in between. The bounds: a row of d elements needs d colours of
 * columns, and a column shared by r of the rows needs r colours of rows.
 * Ascending by bound; *n receives the number of partitions. */
static Status partitions(Ctx *c, const RowPattern *p, Partition *out, uint32_t *n) {
	int64_t *first = words(c, p->n + 1, sizeof *first), *next = words(c, p->m, sizeof *next),
			*met = words(c, p->n, sizeof *met), deepest = 0, longest = 0;
	const Status st = first && next && met ? ST_OK : ST_NOMEM;
	*n = 0;
	if (st == ST_OK) {
		for (int64_t d = 0; d <= p->n; d++) first[d] = -1;
		for (int64_t j = 0; j < p->n; j++) met[j] = 0;
		for (int64_t i = p->m; i-- > 0;) { /* lists of rows by number of elements */
			const int64_t d = p->start[i + 1] - p->start[i];
			next[i] = first[d];
			first[d] = i;
			if (d > longest) longest = d;
		}
		Partition between[2] = {{.least = INT64_MAX}, {.least = INT64_MAX}};
		for (int64_t d = longest; d >= 0; d--) {
			if (first[d] < 0 && d) continue;
			const Partition k = {d, d + ROW_COST * deepest};
			if (d == longest || !d) out[(*n)++] = k;
			else if (k.least < between[0].least) between[1] = between[0], between[0] = k;
			else if (k.least < between[1].least) between[1] = k;
			for (int64_t i = first[d]; i >= 0; i = next[i])
				for (int64_t e = p->start[i]; e < p->start[i + 1]; e++)
					if (++met[p->column[e]] > deepest) deepest = met[p->column[e]];
		}
		for (uint32_t k = 0; k < 2; k++)
			if (between[k].least < INT64_MAX) out[(*n)++] = between[k];
		/* Insertion sort; among equal bounds the one with fewer rows is
		 * first. */
		for (uint32_t k = 1; k < *n; k++)
			for (uint32_t l = k;
			     l > 0 && (out[l].least < out[l - 1].least ||
			               (out[l].least == out[l - 1].least && out[l].most > out[l - 1].most));
			     l--) {
				const Partition moved = out[l];
				out[l] = out[l - 1];
				out[l - 1] = moved;
			}
	}
	give_back(c, first, p->n + 1, sizeof *first);
	give_back(c, next, p->m, sizeof *next);
	give_back(c, met, p->n, sizeof *met);
	return st;
}

/* Colours rows with more than `most` elements by rows, the others by columns.
 * If such rows contain every element, the columns need no colours. */
static Status colour_partition(Ctx *c, const RowPattern *p, const RowPattern *t, int64_t most,
                               Colouring *out) {
	bool rows = false, columns = false;
	for (int64_t i = 0; i < p->m; i++) {
		const int64_t d = p->start[i + 1] - p->start[i];
		out->row[i] = d > most ? 0 : -1;
		rows |= d > most;
		columns |= d && d <= most;
	}
	out->p = out->q = 0;
	Status st = ST_OK;
	if (columns || !rows) st = colour_well(c, t, p, out->row, NULL, most, out->column, &out->p);
	else
		for (int64_t j = 0; j < p->n; j++) out->column[j] = -1;
	if (st != ST_OK || !rows) return st;
	int64_t *only = words(c, p->m, sizeof *only);
	if (!only) return ST_NOMEM;
	memcpy(only, out->row, (size_t)p->m * sizeof *only);
	st = colour_well(c, p, t, NULL, only, 1, out->row, &out->q);
	give_back(c, only, p->m, sizeof *only);
	return st;
}

Status colour_general(Ctx *c, const RowPattern *p, const RowPattern *t, Colouring *out) {
	Partition some[TRIED];
	uint32_t n = 0;
	Colouring other = {0};
	Status st = colouring_new(c, p, out);
	if (st != ST_OK) return st;
	st = partitions(c, p, some, &n);
	if (st == ST_OK) st = colour_partition(c, p, t, some[0].most, out);
	for (uint32_t k = 1; k < n && st == ST_OK && some[k].least < out->p + ROW_COST * out->q; k++) {
		if (!other.column && (st = colouring_new(c, p, &other)) != ST_OK) break;
		st = colour_partition(c, p, t, some[k].most, &other);
		if (st != ST_OK || other.p + ROW_COST * other.q >= out->p + ROW_COST * out->q) continue;
		const Colouring better = other;
		other = *out;
		*out = better;
	}
	if (other.column) colouring_free(c, &other);
	if (st != ST_OK) {
		colouring_free(c, out);
		return st;
	}
	for (int64_t j = 0, k = 0; j < p->n; j++) {
		for (; k < t->start[j + 1]; k++) {
			const int64_t i = t->column[k];
			out->place[k] = out->row[i] < 0 ? out->column[j] * p->m + i
			                                : out->p * p->m + out->row[i] * p->n + j;
		}
	}
	return ST_OK;
}

/* ---- symmetric matrices -------------------------------------------------- */

/* The number of neighbours of a vertex with each colour: a hash table with open
 * addressing, keyed by (vertex, colour). */
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

static Status star_colours(Ctx *c, const RowPattern *p, const int64_t *order, int64_t *colour,
                           int64_t *ncolours) {
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
		for (const int32_t *w = first; w < end; w++) { /* colours of two or more neighbours */
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
				/* The path w' - v - w - x with w' coloured like w, or v - w - x
				 * - y with y coloured like w. */
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

/* The id of each edge is the index of its element above the diagonal, for both
 * elements. */
static Status edge_numbers(Ctx *c, const RowPattern *p, int64_t *edge) {
	/* In row j, the first element whose mirror image has not been visited. */
	int64_t *next = words(c, p->n, sizeof *next);
	if (!next) return ST_NOMEM;
	for (int64_t j = 0; j < p->n; j++) next[j] = p->start[j];
	for (int64_t i = 0; i < p->n; i++) {
		for (int64_t k = p->start[i]; k < p->start[i + 1]; k++) {
			const int64_t j = p->column[k];
			if (j < i) continue;
			edge[k] = k;
			edge[next[j]++] = k;
		}
	}
	give_back(c, next, p->n, sizeof *next);
	return ST_OK;
}

/* Disjoint sets of edges, with path halving. */
static int64_t set_of(int64_t *parent, int64_t e) {
	while (parent[e] != e) e = parent[e] = parent[parent[e]];
	return e;
}

static void join(int64_t *parent, int64_t *size, int64_t a, int64_t b) {
	a = set_of(parent, a);
	b = set_of(parent, b);
	if (a == b) return;
	parent[b] = a;
	size[a] += size[b] - 1; /* one vertex is in both */
}

typedef struct Acyclic {
	const RowPattern *p;
	const int64_t *edge;
	int64_t *colour;
	/* By edge: disjoint sets. By set: its vertices, and the vertex from which
	 * it was last reached, through which neighbour. */
	int64_t *tree, *size, *reached, *from;
	/* By colour: the vertex that must not have it; an edge to it. */
	int64_t *forbidden, *like;
	int64_t *first, *next; /* neighbours by colour: first[k], -1: none, next[w] */
	/* By colour: counts of the trees that a colour would merge. */
	int64_t *group, *through, *vertices;
} Acyclic;

enum { ACYCLIC_EDGES = 4, ACYCLIC_ARRAYS = 11 };

static int64_t **acyclic_array(Acyclic *a, uint32_t k) {
	int64_t **const at[ACYCLIC_ARRAYS] = {&a->tree,      &a->size,    &a->reached, &a->from,
	                                      &a->forbidden, &a->like,    &a->first,   &a->next,
	                                      &a->group,     &a->through, &a->vertices};
	return at[k];
}

/* Forbids colours that would merge trees into one of more than `most`
 * vertices. */
static void forbid_large(Acyclic *a, int64_t v, int64_t most) {
	const RowPattern *p = a->p;
	for (int64_t k = p->start[v]; k < p->start[v + 1]; k++) {
		const int64_t of = a->colour[p->column[k]];
		if (of < 0 || a->first[of] < 0) continue;
		int64_t neighbours = 0;
		for (int64_t w = a->first[of]; w >= 0; w = a->next[w]) neighbours++;
		for (int64_t w = a->first[of]; w >= 0; w = a->next[w]) {
			for (int64_t l = p->start[w]; l < p->start[w + 1]; l++) {
				const int64_t x = a->colour[p->column[l]];
				if (p->column[l] == w || x < 0 || a->forbidden[x] == v) continue;
				if (a->group[x] != k) a->vertices[x] = 1 + neighbours;
				if (a->group[x] != k || a->through[x] != w)
					a->vertices[x] += a->size[set_of(a->tree, a->edge[l])] - 1;
				a->group[x] = k;
				a->through[x] = w;
				if (a->vertices[x] > most) a->forbidden[x] = v;
			}
		}
		a->first[of] = -1; /* each colour is visited once */
	}
}

/* Invariant: the edges between any two colours are a forest, whose trees are
 * the sets. v must not have the colour of x when two of its neighbours are in
 * one tree that contains x's colour. No tree gets more than `most` vertices. */
static Status acyclic_colours(Ctx *c, const RowPattern *p, const int64_t *order,
                              const int64_t *edge, int64_t most, int64_t *colour,
                              int64_t *ncolours) {
	const int64_t n = p->n, nnz = p->start[n];
	Acyclic a = {.p = p, .edge = edge, .colour = colour};
	Status st = ST_OK;
	for (uint32_t k = 0; k < ACYCLIC_ARRAYS; k++)
		if (!(*acyclic_array(&a, k) = words(c, k < ACYCLIC_EDGES ? nnz : n, sizeof(int64_t))))
			st = ST_NOMEM;
	if (st == ST_OK) {
		for (int64_t e = 0; e < nnz; e++) a.tree[e] = e, a.size[e] = 2, a.reached[e] = -1;
		for (int64_t v = 0; v < n; v++) a.forbidden[v] = a.group[v] = a.first[v] = colour[v] = -1;
	}
	*ncolours = 0;
	for (int64_t at = 0; at < n && st == ST_OK; at++) {
		const int64_t v = order ? order[at] : at, first = p->start[v], end = p->start[v + 1];
		for (int64_t k = first; k < end; k++) {
			const int64_t w = p->column[k];
			if (colour[w] < 0) continue;
			a.forbidden[colour[w]] = v;
			a.next[w] = a.first[colour[w]];
			a.first[colour[w]] = w;
		}
		for (int64_t k = first; k < end; k++) {
			const int64_t w = p->column[k];
			if (colour[w] < 0) continue;
			for (int64_t l = p->start[w]; l < p->start[w + 1]; l++) {
				const int64_t x = p->column[l];
				if (x == w || colour[x] < 0 || a.forbidden[colour[x]] == v) continue;
				const int64_t t = set_of(a.tree, edge[l]);
				if (a.reached[t] == v && a.from[t] != w) a.forbidden[colour[x]] = v;
				a.reached[t] = v;
				a.from[t] = w;
			}
		}
		if (most < n) forbid_large(&a, v, most);
		int64_t free_one = 0;
		while (free_one < *ncolours && a.forbidden[free_one] == v) free_one++;
		for (int64_t k = first; k < end; k++) /* reset for the next vertex */
			if (colour[p->column[k]] >= 0)
				a.first[colour[p->column[k]]] = a.like[colour[p->column[k]]] = -1;
		colour[v] = free_one;
		if (free_one == *ncolours) ++*ncolours;
		for (int64_t k = first; k < end; k++) { /* add the new edges and merge their trees */
			const int64_t w = p->column[k];
			if (w == v || colour[w] < 0) continue;
			if (a.like[colour[w]] >= 0) join(a.tree, a.size, a.like[colour[w]], edge[k]);
			a.like[colour[w]] = edge[k];
			for (int64_t l = p->start[w]; l < p->start[w + 1]; l++)
				if (p->column[l] != v && colour[p->column[l]] == free_one)
					join(a.tree, a.size, edge[l], edge[k]);
		}
		st = ctx_poll(c, 1);
	}
	for (uint32_t k = 0; k < ACYCLIC_ARRAYS; k++)
		give_back(c, *acyclic_array(&a, k), k < ACYCLIC_EDGES ? nnz : n, sizeof(int64_t));
	return st;
}

/* The trees of two colours. A node (i, k) is a vertex i with its neighbours of
 * one colour k. Row i of the product of colour k is the sum of the elements of
 * the node's edges. The edge to its parent is therefore that sum minus the
 * edges to its children, whichever node is the root. A diagonal element is a
 * tree of its own, since no neighbour has its vertex's colour. */
typedef struct Forest {
	int64_t room, n; /* nodes */
	int64_t *node;   /* by element of the pattern (i, j): the node (i, colour of j) */
	int64_t *place;  /* by node: the index of its element in the products */
	/* By node, while leaves are removed: the number of remaining neighbours,
	 * and their exclusive or. */
	int64_t *degree, *link;
	int64_t *order;  /* nodes, children before parents */
	int64_t *parent; /* -1: a root */
	int64_t *terms;  /* nodes in the subtree */
	int64_t *root;
	/* By node: the index of its sum; -1: its element is an element of the
	 * products. */
	int64_t *sum;
} Forest;

enum { FOREST_ARRAYS = 9 };

static int64_t **forest_array(Forest *f, uint32_t k) {
	int64_t **const at[FOREST_ARRAYS] = {&f->node,   &f->place, &f->degree, &f->link, &f->order,
	                                     &f->parent, &f->terms, &f->root,   &f->sum};
	return at[k];
}

static void forest_free(Ctx *c, Forest *f) {
	for (uint32_t k = 0; k < FOREST_ARRAYS; k++)
		give_back(c, *forest_array(f, k), f->room, sizeof(int64_t));
}

static Status forest_new(Ctx *c, const RowPattern *p, const Colouring *k, const int64_t *edge,
                         Forest *f) {
	*f = (Forest){.room = p->start[p->n]};
	int64_t *met = words(c, k->p, sizeof *met), *which = words(c, k->p, sizeof *which);
	bool all = met && which;
	for (uint32_t a = 0; a < FOREST_ARRAYS; a++)
		all &= (*forest_array(f, a) = words(c, f->room, sizeof(int64_t))) != NULL;
	for (int64_t a = 0; all && a < k->p; a++) met[a] = -1;
	for (int64_t i = 0; all && i < p->n; i++) {
		for (int64_t e = p->start[i]; e < p->start[i + 1]; e++) {
			const int64_t colour = k->column[p->column[e]];
			if (met[colour] != i) {
				met[colour] = i;
				which[colour] = f->n;
				f->degree[f->n] = f->link[f->n] = 0;
				f->place[f->n++] = colour * p->m + i;
			}
			f->node[e] = which[colour];
			if (p->column[e] >= i) continue;
			const int64_t a = f->node[e], b = f->node[edge[e]];
			f->degree[a]++;
			f->degree[b]++;
			f->link[a] ^= b;
			f->link[b] ^= a;
		}
	}
	give_back(c, met, k->p, sizeof *met);
	give_back(c, which, k->p, sizeof *which);
	return all ? ST_OK : ST_NOMEM;
}

/* Removes leaves until one node of each tree remains, its root. Then moves the
 * root to a centroid, where no subtree has more than half of the nodes, so that
 * the sums are short. */
static void forest_roots(Forest *f) {
	int64_t n = 0;
	for (int64_t v = 0; v < f->n; v++) {
		f->terms[v] = 1;
		if (f->degree[v] < 2) f->order[n++] = v;
	}
	for (int64_t at = 0; at < n; at++) {
		const int64_t v = f->order[at], up = f->degree[v] ? f->link[v] : -1;
		f->parent[v] = up;
		if (up < 0) continue;
		f->terms[up] += f->terms[v];
		f->link[up] ^= v;
		if (--f->degree[up] == 1) f->order[n++] = up;
	}
	int64_t *middle = f->link; /* by root: the smallest subtree with half of its tree */
	for (int64_t at = n; at-- > 0;) {
		const int64_t v = f->order[at],
					  r = f->root[v] = f->parent[v] < 0 ? v : f->root[f->parent[v]];
		if (v == r || (2 * f->terms[v] >= f->terms[r] && f->terms[v] < f->terms[middle[r]]))
			middle[r] = v;
	}
	for (int64_t at = 0; at < n; at++) {
		const int64_t r = f->order[at], all = f->terms[r];
		if (f->root[r] != r) continue;
		for (int64_t v = middle[r], below = -1, rest = 0; v >= 0;) {
			const int64_t up = f->parent[v], left = all - f->terms[v];
			f->parent[v] = below;
			f->terms[v] = below < 0 ? all : rest;
			below = v;
			rest = left;
			v = up;
		}
	}
}

/* Numbers the sums so that the sums subtracted from a sum precede it. */
static Status forest_sums(Ctx *c, Forest *f, Colouring *out) {
	int64_t *children = f->degree, met = 0, n = 0;
	for (int64_t v = 0; v < f->n; v++) children[v] = 0;
	for (int64_t v = 0; v < f->n; v++)
		if (f->parent[v] >= 0) children[f->parent[v]]++;
	for (int64_t v = 0; v < f->n; v++)
		if (!children[v]) f->order[met++] = v;
	for (int64_t at = 0; at < met; at++) {
		const int64_t v = f->order[at], up = f->parent[v];
		f->sum[v] = up >= 0 && (f->terms[v] > 1 || f->parent[up] >= 0) ? n++ : -1;
		if (up >= 0 && f->terms[v] > out->most_terms) out->most_terms = f->terms[v];
		if (up >= 0 && !--children[up]) f->order[met++] = up;
	}
	if (!n) return ST_OK;
	out->nsums = n;
	out->term = words(c, n, sizeof *out->term);
	out->part_of = words(c, n, sizeof *out->part_of);
	if (!out->term || !out->part_of) return ST_NOMEM;
	for (int64_t v = 0; v < f->n; v++) {
		if (f->sum[v] < 0) continue;
		out->term[f->sum[v]] = f->place[v];
		out->part_of[f->sum[v]] = f->sum[f->parent[v]] >= 0 ? f->sum[f->parent[v]] : n;
	}
	return ST_OK;
}

/* Finds where each element is recovered from, for either colouring. In a star
 * colouring every tree is a star, and there are no sums. */
static Status recover(Ctx *c, const RowPattern *p, const int64_t *edge, Colouring *out) {
	Forest f;
	Status st = forest_new(c, p, out, edge, &f);
	if (st == ST_OK) {
		forest_roots(&f);
		st = forest_sums(c, &f, out);
	}
	for (int64_t i = 0; st == ST_OK && i < p->n; i++) {
		for (int64_t e = p->start[i]; e < p->start[i + 1] && p->column[e] <= i; e++) {
			const int64_t a = f.node[e], b = f.node[edge[e]], child = f.parent[a] == b ? a : b;
			out->place[e] = out->place[edge[e]] =
				f.sum[child] >= 0 ? out->p * p->m + f.sum[child] : f.place[child];
		}
	}
	forest_free(c, &f);
	return st;
}

/* A lower bound on the number of colours. The edges between any two of q
 * classes are a forest, so there are at most (q - 1)(n - q / 2) edges in
 * all. */
static int64_t acyclic_least(const RowPattern *p) {
	int64_t edges = 0, q = p->n > 0;
	for (int64_t i = 0; i < p->n; i++)
		for (int64_t e = p->start[i]; e < p->start[i + 1]; e++) edges += p->column[e] < i;
	while ((q - 1) * (2 * p->n - q) < 2 * edges) q++;
	return q;
}

/* The best of the orders for one kind of colouring: a star colouring if `most`
 * is 0, else an acyclic one with trees of at most `most` vertices. */
static Status colour_in_orders(Ctx *c, const RowPattern *p, int64_t most, const int64_t *edge,
                               Colouring *out) {
	int64_t *order = words(c, p->n, sizeof *order), *other = words(c, p->n, sizeof *other), count;
	Status st = order && other ? ST_OK : ST_NOMEM;
	/* The orders: natural, by neighbours of neighbours, by neighbours. */
	for (int attempt = 0; attempt < (most ? 3 : 2) && st == ST_OK; attempt++) {
		if (attempt) st = smallest_last(c, p, attempt == 1 ? p : NULL, NULL, order);
		if (st != ST_OK) break;
		const int64_t *in = attempt ? order : NULL;
		st = most ? acyclic_colours(c, p, in, edge, most, other, &count)
		          : star_colours(c, p, in, other, &count);
		if (st != ST_OK || (attempt && count >= out->p)) continue;
		memcpy(out->column, other, (size_t)p->n * sizeof *other);
		out->p = count;
	}
	give_back(c, order, p->n, sizeof *order);
	give_back(c, other, p->n, sizeof *other);
	return st;
}

static Status symmetric_new(Ctx *c, const RowPattern *p, Colouring *out) {
	const Status st = colouring_new(c, p, out);
	for (int64_t i = 0; st == ST_OK && i < p->m; i++) out->row[i] = -1;
	return st;
}

/* Replaces `out` by an acyclic colouring when that has fewer colours and no sum
 * is too long. */
static Status colour_with_fewer(Ctx *c, const RowPattern *p, int64_t most, const int64_t *edge,
                                Colouring *out) {
	Colouring other;
	Status st = symmetric_new(c, p, &other);
	if (st != ST_OK) return st;
	st = colour_in_orders(c, p, most, edge, &other);
	if (st == ST_OK && other.p < out->p) {
		st = recover(c, p, edge, &other);
		if (st == ST_OK && other.most_terms <= COLOURING_TERMS) {
			const Colouring better = other;
			other = *out;
			*out = better;
		}
	}
	colouring_free(c, &other);
	return st;
}

Status colour_symmetric(Ctx *c, const RowPattern *p, Recovery recovery, Colouring *out) {
	const int64_t nnz = p->start[p->n], least = acyclic_least(p);
	Status st = symmetric_new(c, p, out);
	if (st != ST_OK) return st;
	int64_t *edge = words(c, nnz, sizeof *edge);
	st = edge ? edge_numbers(c, p, edge) : ST_NOMEM;
	/* Little can be saved, and the search would take long. */
	if (p->n > SMALL && 2 * least > p->n) {
		for (int64_t j = 0; j < p->n; j++) out->column[j] = j;
		out->p = p->n;
	} else if (st == ST_OK) {
		st = colour_in_orders(c, p, recovery == RECOVERY_SUBSTITUTION ? INT64_MAX : 0, edge, out);
	}
	if (st == ST_OK) st = recover(c, p, edge, out);
	/* Trees of any size may have short sums, as stars have. The second attempt
	 * limits the trees so that their halves are not too long. */
	const int64_t most[] = {INT64_MAX, 2 * COLOURING_TERMS}, direct = out->p;
	for (int k = 0; k < 2 && st == ST_OK && recovery == RECOVERY_ANY && out->p == direct &&
	                out->p > least && out->p > 2;
	     k++)
		st = colour_with_fewer(c, p, most[k], edge, out);
	give_back(c, edge, nnz, sizeof *edge);
	if (st != ST_OK) colouring_free(c, out);
	return st;
}
