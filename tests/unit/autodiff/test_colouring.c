/* test_colouring.c - unit tests of index sets and of colourings for sparse
 * derivatives.
 *
 * Oracle: on random patterns, the definition of a colouring and the recovery of
 * every element from compressed products. On patterns with a known minimum, the
 * number of colours.
 *
 * Needs: autodiff/sparse/index_sets.h, autodiff/sparse/colouring.h.
 * Guarantees: random values use fixed seeds.
 */
#include "autodiff/sparse/colouring.h"
#include "autodiff/sparse/index_sets.h"
#include "tests/unit/support/check.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 40 };

static uint64_t state = 88172645463325252u;

static int64_t below(int64_t n) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (int64_t)(state % (uint64_t)n);
}

typedef struct Matrix {
	int64_t m, n;
	double at[MOST][MOST];
} Matrix;

static Matrix random_matrix(bool symmetric) {
	Matrix a = {.m = below(MOST) + 1, .n = below(MOST) + 1};
	if (symmetric) a.n = a.m;
	const int64_t kind = below(4), sparsity = below(8) + 2;
	for (int64_t i = 0; i < a.m; i++) {
		for (int64_t j = 0; j < a.n; j++) {
			bool on = kind == 0   ? below(sparsity) == 0
			          : kind == 1 ? llabs(i - j) <= sparsity / 3
			          : kind == 2 ? i == j || !i || !j
			                      : below(10) == 0 || i % 7 == 3;
			a.at[i][j] = on ? (double)below(1000) + 1 : 0;
		}
	}
	for (int64_t i = 0; symmetric && i < a.m; i++)
		for (int64_t j = 0; j < i; j++) a.at[i][j] = a.at[j][i];
	return a;
}

static RowPattern pattern_of(Ctx *c, const Matrix *a) {
	int64_t nnz = 0;
	RowPattern p = {.m = a->m,
	                .n = a->n,
	                .start_bytes = (size_t)(a->m + 1) * sizeof(int64_t),
	                .column_bytes = MOST * MOST * sizeof(int32_t)};
	p.start = heap_alloc(c, p.start_bytes);
	p.column = heap_alloc(c, p.column_bytes);
	if (!p.start || !p.column) abort();
	for (int64_t i = 0; i < a->m; i++) {
		p.start[i] = nnz;
		for (int64_t j = 0; j < a->n; j++)
			if (a->at[i][j] != 0) p.column[nnz++] = (int32_t)j;
	}
	p.start[a->m] = nnz;
	return p;
}

/* Returns the compressed products, one after the other, then the sums. */
static double *products(const Matrix *a, const Colouring *k) {
	const int64_t direct = k->p * a->m + k->q * a->n;
	double *out = calloc((size_t)(direct + k->nsums + 1), sizeof *out), *sum = out + direct;
	if (!out) abort();
	for (int64_t i = 0; i < a->m; i++) {
		for (int64_t j = 0; j < a->n; j++) {
			if (k->column[j] >= 0) out[k->column[j] * a->m + i] += a->at[i][j];
			if (k->row[i] >= 0) out[k->p * a->m + k->row[i] * a->n + j] += a->at[i][j];
		}
	}
	for (int64_t i = 0; i < k->nsums; i++) sum[i] = out[k->term[i]];
	for (int64_t i = 0; i < k->nsums; i++) {
		CHECK(k->part_of[i] > i && k->part_of[i] <= k->nsums);
		if (k->part_of[i] < k->nsums) sum[k->part_of[i]] -= sum[i];
	}
	return out;
}

static int64_t root_of(const int64_t *up, int64_t v) {
	while (up[v] != v) v = up[v];
	return v;
}

/* Checks the definition: neighbours differ, no two colours induce a cycle, and
 * in a star colouring no two colours induce a path of four vertices. */
static bool is_colouring(const Matrix *a, const Colouring *k, bool star) {
	const int64_t n = a->n;
	for (int64_t first = 0; first < k->p; first++) {
		for (int64_t second = first; second < k->p; second++) {
			int64_t up[MOST], degree[MOST] = {0};
			for (int64_t v = 0; v < n; v++) up[v] = v;
			for (int pass = 0; pass < 2; pass++) {
				for (int64_t v = 0; v < n; v++) {
					for (int64_t w = v + 1; w < n; w++) {
						const int64_t low =
										  k->column[v] < k->column[w] ? k->column[v] : k->column[w],
									  high = k->column[v] + k->column[w] - low;
						if (a->at[v][w] == 0 || low != first || high != second) continue;
						if (low == high) return false;
						/* An edge in the middle of a path. */
						if (pass && star && degree[v] > 1 && degree[w] > 1) return false;
						if (pass) continue;
						degree[v]++;
						degree[w]++;
						if (root_of(up, v) == root_of(up, w)) return false;
						up[root_of(up, v)] = root_of(up, w);
					}
				}
			}
		}
	}
	return true;
}

static void check_symmetric(Ctx *c, const Matrix *a, Recovery recovery, Colouring *k) {
	RowPattern p = pattern_of(c, a);
	CHECK(colour_symmetric(c, &p, recovery, k) == ST_OK);
	double *out = products(a, k);
	bool right = true;
	for (int64_t j = 0; j < a->n; j++)
		for (int64_t e = p.start[j]; e < p.start[j + 1]; e++)
			right &= out[k->place[e]] == a->at[p.column[e]][j];
	CHECK(right);
	CHECK(is_colouring(a, k, !k->nsums && recovery != RECOVERY_SUBSTITUTION));
	CHECK(k->most_terms <= a->n / 2 + 1 && (k->nsums > 0) == (k->most_terms > 1));
	free(out);
	row_pattern_free(c, &p);
}

static void check_random_symmetric(Ctx *c) {
	const Matrix a = random_matrix(true);
	Colouring star, acyclic, best;
	check_symmetric(c, &a, RECOVERY_DIRECT, &star);
	check_symmetric(c, &a, RECOVERY_SUBSTITUTION, &acyclic);
	check_symmetric(c, &a, RECOVERY_ANY, &best);
	CHECK(!star.nsums && star.most_terms == 1);
	CHECK(best.p == (acyclic.p < star.p ? acyclic.p : star.p));
	RowPattern p = pattern_of(c, &a), half;
	CHECK(row_pattern_symmetric(c, &p, &half) == ST_OK && half.start[half.m] == p.start[p.m]);
	row_pattern_free(c, &half);
	row_pattern_free(c, &p);
	colouring_free(c, &star);
	colouring_free(c, &acyclic);
	colouring_free(c, &best);
}

static void check_general(Ctx *c) {
	const Matrix a = random_matrix(false);
	RowPattern p = pattern_of(c, &a), q;
	Colouring k;
	CHECK(row_pattern_transposed(c, &p, &q) == ST_OK);
	CHECK(colour_general(c, &p, &q, &k) == ST_OK);
	double *out = products(&a, &k);
	bool right = true;
	int64_t rows = 0, columns = 0;
	for (int64_t j = 0; j < a.n; j++) {
		for (int64_t e = q.start[j]; e < q.start[j + 1]; e++)
			right &= out[k.place[e]] == a.at[q.column[e]][j];
		if (q.start[j + 1] - q.start[j] > rows) rows = q.start[j + 1] - q.start[j];
	}
	for (int64_t i = 0; i < a.m; i++)
		if (p.start[i + 1] - p.start[i] > columns) columns = p.start[i + 1] - p.start[i];
	CHECK(right);
	/* No more expensive than separate rows or columns. */
	CHECK(k.p + 2 * k.q <= a.n + !columns && k.p + 2 * k.q <= 2 * a.m + !columns);
	free(out);
	colouring_free(c, &k);
	row_pattern_free(c, &p);
	row_pattern_free(c, &q);
}

static void put(Matrix *a, int64_t i, int64_t j) {
	a->at[i][j] = a->at[j][i] = (double)below(1000) + 1;
}

/* Numbers of colours of star and acyclic colourings where both are known. They
 * are minimal for paths, stars, cliques, trees and even cycles. */
static void check_known(Ctx *c) {
	enum { PATH, ARROW, CLIQUE, CYCLE, TREE, GRID, DIAGONAL, KINDS };
	static const int64_t star[KINDS] = {3, 2, 20, 3, 3, 5, 1},
						 acyclic[KINDS] = {2, 2, 20, 3, 2, 4, 1};
	for (int kind = 0; kind < KINDS; kind++) {
		for (int sample = 0; sample < (kind == TREE ? 50 : 1); sample++) {
			Matrix a = {.m = kind == GRID ? 36 : 20, .n = kind == GRID ? 36 : 20};
			for (int64_t v = 0; v < a.n; v++) {
				put(&a, v, v);
				if ((kind == PATH || kind == CYCLE) && v) put(&a, v, v - 1);
				if (kind == CYCLE && !v) put(&a, v, a.n - 1);
				if (kind == ARROW && v) put(&a, v, 0);
				if (kind == TREE && v) put(&a, v, below(v));
				for (int64_t w = 0; kind == CLIQUE && w < v; w++) put(&a, v, w);
				if (kind == GRID && v % 6) put(&a, v, v - 1);
				if (kind == GRID && v >= 6) put(&a, v, v - 6);
			}
			Colouring k;
			check_symmetric(c, &a, RECOVERY_DIRECT, &k);
			CHECK(kind == TREE   ? k.p >= 2 && k.p <= star[kind] + 1
			      : kind == GRID ? k.p <= star[kind]
			                     : k.p == star[kind]);
			colouring_free(c, &k);
			check_symmetric(c, &a, RECOVERY_SUBSTITUTION, &k);
			CHECK(kind == GRID ? k.p <= acyclic[kind] : k.p == acyclic[kind]);
			CHECK(kind != PATH || (k.most_terms == 10));
			colouring_free(c, &k);
		}
	}
}

/* A long path: two colours while no substitution sum is too long, else
 * three. */
static void check_length(Ctx *c, int64_t n, bool substituted) {
	RowPattern p = {.m = n,
	                .n = n,
	                .start_bytes = (size_t)(n + 1) * sizeof(int64_t),
	                .column_bytes = (size_t)(3 * n) * sizeof(int32_t)};
	p.start = heap_alloc(c, p.start_bytes);
	p.column = heap_alloc(c, p.column_bytes);
	if (!p.start || !p.column) abort();
	int64_t nnz = 0;
	for (int64_t i = 0; i < n; i++) {
		p.start[i] = nnz;
		for (int64_t j = i ? i - 1 : 0; j < n && j <= i + 1; j++) p.column[nnz++] = (int32_t)j;
	}
	p.start[n] = nnz;
	Colouring k;
	CHECK(colour_symmetric(c, &p, RECOVERY_ANY, &k) == ST_OK);
	CHECK(k.p == (substituted ? 2 : 3) && (k.nsums > 0) == substituted &&
	      k.most_terms <= COLOURING_TERMS);
	colouring_free(c, &k);
	CHECK(colour_symmetric(c, &p, RECOVERY_SUBSTITUTION, &k) == ST_OK);
	CHECK(k.p == 2 && k.most_terms == n / 2);
	colouring_free(c, &k);
	row_pattern_free(c, &p);
}

/* Rows without common columns share a product, whatever they contain. A few
 * dense rows among short ones get products of their own. */
static void check_rows(Ctx *c) {
	for (int kind = 0; kind < 3; kind++) {
		Matrix a = {.m = kind == 2 ? 30 : 6, .n = 30};
		for (int64_t i = 0; i < a.m; i++)
			/* Disjoint blocks; blocks that overlap cyclically; two dense rows
			 * and a diagonal. */
			for (int64_t j = 0; j < a.n; j++)
				a.at[i][j] = kind == 0   ? j / 5 == i
				             : kind == 1 ? j / 5 == i || j / 5 == (i + 1) % 6
				                         : i == j || i == 3 || i == 17;
		RowPattern p = pattern_of(c, &a), q;
		Colouring k;
		CHECK(row_pattern_transposed(c, &p, &q) == ST_OK);
		CHECK(colour_general(c, &p, &q, &k) == ST_OK);
		CHECK(k.p == (kind == 2) && k.q == (kind == 0 ? 1 : 2));
		colouring_free(c, &k);
		row_pattern_free(c, &p);
		row_pattern_free(c, &q);
	}
}

/* Allocation 1, 2, ... fails until the call succeeds. Each time all memory is
 * released. */
static void check_memory(Ctx *c) {
	Matrix a = {.m = 30, .n = 30}; /* two dense rows, and a band */
	for (int64_t i = 0; i < a.m; i++)
		for (int64_t j = 0; j < a.n; j++) a.at[i][j] = i == 3 || j == 3 || llabs(i - j) < 3;
	RowPattern p = pattern_of(c, &a), q;
	CHECK(row_pattern_transposed(c, &p, &q) == ST_OK);
	for (int kind = 0; kind < 4; kind++) {
		bool through = false;
		int n = 1;
		for (; !through && n < 500; n++) {
			Colouring k;
			const size_t before = heap_used(c);
			heap_fail_at(c, (uint64_t)n, false);
			const Status st = kind ? colour_symmetric(c, &p, (Recovery)(kind - 1), &k)
			                       : colour_general(c, &p, &q, &k);
			heap_fail_at(c, 0, false);
			through = st == ST_OK;
			CHECK(through || st == ST_NOMEM);
			if (through) colouring_free(c, &k);
			CHECK(heap_used(c) == before);
		}
		CHECK(through && n > 10);
	}
	row_pattern_free(c, &p);
	row_pattern_free(c, &q);
}

/* Compares index sets with bit sets. */
static void check_sets(Ctx *c) {
	enum { INPUTS = 60, STEPS = 400 };
	IndexSets *s = index_sets_new(c, INPUTS);
	int32_t number[STEPS];
	uint64_t bits[STEPS];
	bool right = s != NULL;
	for (int i = 0; right && i < STEPS; i++) {
		if (i < INPUTS) {
			number[i] = i + 1;
			bits[i] = (uint64_t)1 << i;
		} else {
			int32_t some[9];
			const int64_t n = below(9);
			bits[i] = 0;
			for (int64_t k = 0; k < n; k++) {
				const int64_t from = below(i);
				some[k] = number[from];
				bits[i] |= bits[from];
			}
			number[i] =
				n == 2 ? index_sets_union(s, some[0], some[1]) : index_sets_union_of(s, n, some);
		}
		uint64_t seen = 0;
		const SetView v = index_sets_view(s, number[i]);
		for (int32_t k = 0; k < v.count; k++) {
			right &= !k || set_member(v, k - 1) < set_member(v, k);
			seen |= (uint64_t)1 << set_member(v, k);
		}
		right &= seen == bits[i];
		for (int k = 0; k < i; k++) right &= (number[k] == number[i]) == (bits[k] == bits[i]);
	}
	CHECK(right);
	index_sets_free(s);
}

int main(void) {
	Ctx *c = ctx_new(NULL);
	for (int k = 0; k < 20; k++) check_sets(c);
	for (int k = 0; k < 200; k++) {
		check_general(c);
		check_random_symmetric(c);
	}
	check_known(c);
	check_length(c, 2 * COLOURING_TERMS, true);
	check_length(c, 2 * COLOURING_TERMS + 2, false);
	check_rows(c);
	check_memory(c);
	CHECK(heap_used(c) > 0);
	ctx_free(c);
	return check_end();
}
