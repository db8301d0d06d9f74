/* test_colouring.c - numbered sets, and colourings on random patterns: every element of a matrix comes back from its compressed products.
 *
 * Needs: autodiff/sets.h, autodiff/colouring.h. Guarantees: the numbers are made from fixed seeds.
 */
#include "autodiff/colouring.h"
#include "autodiff/sets.h"
#include "tests/unit/check.h"
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
			bool on = kind == 0 ? below(sparsity) == 0 : kind == 1 ? llabs(i - j) <= sparsity / 3 : kind == 2 ? i == j || !i || !j : below(10) == 0 || i % 7 == 3;
			a.at[i][j] = on ? (double)below(1000) + 1 : 0;
		}
	}
	for (int64_t i = 0; symmetric && i < a.m; i++)
		for (int64_t j = 0; j < i; j++) a.at[i][j] = a.at[j][i];
	return a;
}

static RowPattern pattern_of(Ctx *c, const Matrix *a) {
	int64_t nnz = 0;
	RowPattern p = {.m = a->m, .n = a->n, .start_bytes = (size_t)(a->m + 1) * sizeof(int64_t), .column_bytes = MOST * MOST * sizeof(int32_t)};
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

/* What the products with the groups are, one after the other. */
static double *products(const Matrix *a, const Colouring *k) {
	double *out = calloc((size_t)(k->p * a->m + k->q * a->n + 1), sizeof *out);
	if (!out) abort();
	for (int64_t i = 0; i < a->m; i++) {
		for (int64_t j = 0; j < a->n; j++) {
			out[k->column[j] * a->m + i] += a->at[i][j];
			if (k->row[i] >= 0) out[k->p * a->m + k->row[i] * a->n + j] += a->at[i][j];
		}
	}
	return out;
}

static void check_matrix(Ctx *c, bool symmetric) {
	const Matrix a = random_matrix(symmetric);
	RowPattern p = pattern_of(c, &a), q;
	Colouring k;
	CHECK(row_pattern_transposed(c, &p, &q) == ST_OK);
	CHECK((symmetric ? colour_symmetric(c, &p, &k) : colour_general(c, &p, &q, &k)) == ST_OK);
	double *out = products(&a, &k);
	bool right = true;
	for (int64_t j = 0; j < a.n; j++)
		for (int64_t e = q.start[j]; e < q.start[j + 1]; e++) right &= out[k.place[e]] == a.at[q.column[e]][j];
	CHECK(right);
	if (symmetric) {
		RowPattern half;
		CHECK(row_pattern_symmetric(c, &p, &half) == ST_OK && half.start[half.m] == p.start[p.m]);
		row_pattern_free(c, &half);
	}
	free(out);
	colouring_free(c, &k);
	row_pattern_free(c, &p);
	row_pattern_free(c, &q);
}

/* Sets as bits, beside the numbered ones. */
static void check_sets(Ctx *c) {
	enum { INPUTS = 60, STEPS = 400 };
	Sets *s = sets_new(c, INPUTS);
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
			number[i] = n == 2 ? sets_union(s, some[0], some[1]) : sets_union_of(s, n, some);
		}
		uint64_t seen = 0;
		const SetView v = sets_view(s, number[i]);
		for (int32_t k = 0; k < v.count; k++) {
			right &= !k || set_member(v, k - 1) < set_member(v, k);
			seen |= (uint64_t)1 << set_member(v, k);
		}
		right &= seen == bits[i];
		for (int k = 0; k < i; k++) right &= (number[k] == number[i]) == (bits[k] == bits[i]);
	}
	CHECK(right);
	sets_free(s);
}

int main(void) {
	Ctx *c = ctx_new(NULL);
	for (int k = 0; k < 20; k++) check_sets(c);
	for (int k = 0; k < 400; k++) check_matrix(c, k % 2);
	CHECK(heap_used(c) > 0);
	ctx_free(c);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
