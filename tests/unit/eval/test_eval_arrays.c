/* test_eval_arrays.c - unit tests of the evaluator's array primitives.
 *
 * Covers reductions, contraction, gather and scatter, linear algebra,
 * transforms and random bits.
 * Oracle: plain loops, defining equations (factorisations) and the published
 * vectors of Random123.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "backend/kernels/philox.h"
#include "tests/unit/eval/help.h"

/* ---- reductions ---------------------------------------------------------- */

typedef struct Reduce {
	Op op;
	Value x;
	uint32_t naxes;
	int axes[3];
} Reduce;

static void make_reduce(T *t, const void *what) {
	const Reduce *q = what;
	ev_begin(t);
	Ref x = ev_param(t, ev_type_like(t, q->x, true)), r;
	if (q->op == OP_CUMSUM || q->op == OP_CUMPROD || q->op == OP_ARGSORT)
		r = build(t->b, q->op, 1, &x, attr_intern(t->c, (int64_t[]){q->axes[0], q->axes[1]}, 2),
		          NULL);
	else if (q->op == OP_ARGMAX)
		r = build(t->b, q->op, 1, &x, attr_intern(t->c, (int64_t[]){q->axes[0]}, 1), NULL);
	else r = build_reduce(t->b, q->op, x, q->naxes, q->axes);
	t->f = build_end(t->b, 1, &r);
}

/* A tensor of three axes in one of four memory orders, which use the row,
 * column and copy paths. */
static Tensor *ordered(T *t, Dtype d, int order, const int64_t *shape) {
	static const int orders[4][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}};
	int64_t base_shape[3], stride[3], s = 1;
	for (int k = 0; k < 3; k++) base_shape[k] = shape[orders[order][k]];
	Tensor *base = ev_tensor(t, d, 3, base_shape, d == DT_BOOL ? 0 : -2, 2);
	for (int k = 3; k-- > 0;) {
		stride[orders[order][k]] = s;
		s *= base_shape[k];
	}
	Tensor *view = tensor_view(t->c, base, 3, shape, stride, 0);
	tensor_unref(base);
	return view;
}

static double reduce_error(T *t, const Reduce *q) {
	const Tensor *x = q->x.tensor;
	Value r;
	if (ev_once(t, make_reduce, q, &q->x, &r) != ST_OK) {
		ev_show_diags(t);
		diag_clear(t->c);
		return INFINITY;
	}
	bool gone[3] = {false};
	for (uint32_t i = 0; i < q->naxes; i++) gone[q->axes[i]] = true;
	int64_t kept = 1, at_kept[3];
	for (int k = 0; k < 3; k++)
		if (!gone[k]) kept *= x->shape[k];
	double _Complex *w = malloc((size_t)(kept + 1) * sizeof *w);
	bool *set = calloc((size_t)kept + 1, 1);
	int64_t index[3] = {0};
	do {
		int64_t to = 0;
		for (int k = 0; k < 3; k++)
			if (!gone[k]) to = to * x->shape[k] + index[k];
		(void)at_kept;
		double _Complex v = ev_at(x, index);
		if (!set[to]) w[to] = v;
		else if (q->op == OP_REDUCE_SUM) w[to] += v;
		else if (q->op == OP_REDUCE_PROD) w[to] *= v;
		else if (q->op == OP_REDUCE_MAX) w[to] = fmax(creal(w[to]), creal(v));
		else w[to] = fmin(creal(w[to]), creal(v));
		set[to] = true;
	} while (ev_step(3, x->shape, index));
	double e = ev_distance(r, w);
	free(w);
	free(set);
	ev_drop(&r, 1);
	return e;
}

static void test_reduce(T *t) {
	static const int subsets[7][4] = {{1, 0},    {1, 1},    {1, 2},      {2, 0, 1},
	                                  {2, 0, 2}, {2, 1, 2}, {3, 0, 1, 2}};
	static const int64_t shapes[5][3] = {
		{7, 5, 3}, {130, 3, 40}, {3, 200, 17}, {2000, 1, 2}, {2, 6, 1200}};
	for (Dtype d = 0; d < DT_COUNT; d++)
		for (Op op = OP_REDUCE_SUM; op <= OP_REDUCE_MIN; op++)
			for (int shape = 0; shape < 5; shape++)
				for (int order = 0; order < 4; order++)
					for (int k = 0; k < 7; k++) {
						const bool extreme = op == OP_REDUCE_MAX || op == OP_REDUCE_MIN;
						if ((d == DT_BOOL && !extreme) || (dtype_is_complex(d) && extreme))
							continue;
						/* Products of many elements overflow. */
						if (op == OP_REDUCE_PROD && shape) continue;
						Reduce q = {.op = op,
						            .x = value_tensor(ordered(t, d, order, shapes[shape])),
						            .naxes = (uint32_t)subsets[k][0]};
						for (int i = 0; i < subsets[k][0]; i++) q.axes[i] = subsets[k][i + 1];
						double limit = dtype_is_inexact(d) && !extreme
						                   ? (dtype_real_of(d) == DT_F32 ? 2e-4 : 1e-12)
						                   : 0;
						double e = reduce_error(t, &q);
						if (!(e <= limit))
							printf("%s %s shape %d order %d axes %d: %g\n", prims[op].name,
							       dtype_name(d), shape, order, k, e);
						CHECK(e <= limit);
						ev_drop(&q.x, 1);
					}
}

static void test_reduce_edges(T *t) {
	/* A sum of 3 million equal values: naive summation is off by 1e-11. */
	Reduce q = {.op = OP_REDUCE_SUM, .naxes = 1, .axes = {0}};
	Value r;
	for (int columns = 0; columns < 2; columns++) {
		Tensor *x = columns ? tensor_new(t->c, DT_F64, SHAPE(1000000, 3))
		                    : tensor_new(t->c, DT_F64, SHAPE(3000000));
		for (int64_t i = 0; i < x->count; i++) ((double *)(void *)x->data)[i] = 0.1;
		q.x = value_tensor(x);
		CHECK(ev_once(t, make_reduce, &q, &q.x, &r) == ST_OK);
		double sum = columns ? ((double *)(void *)r.tensor->data)[2] : r.f;
		CHECK(fabs(sum / (columns ? 100000.0 : 300000.0) - 1) < 1e-15);
		ev_drop(&r, 1);
		ev_drop(&q.x, 1);
	}
	Tensor *x = ev_tensor(t, DT_F64, SHAPE(1000), 0, 1);
	((double *)(void *)x->data)[700] = NAN;
	q.x = value_tensor(x);
	for (Op op = OP_REDUCE_MAX; op <= OP_ARGMAX; op++) {
		q.op = op;
		CHECK(ev_once(t, make_reduce, &q, &q.x, &r) == ST_OK);
		CHECK(op == OP_ARGMAX ? r.i == 700 : isnan(r.f));
	}
	ev_drop(&q.x, 1);
	q.x = value_tensor(ev_tensor(t, DT_F64, SHAPE(0), 0, 1));
	for (Op op = OP_REDUCE_SUM; op <= OP_ARGMAX; op++) {
		q.op = op;
		if (!ev_build_it(t, make_reduce, &q)) continue;
		Status st = ev_call(t, &q.x, &r);
		if (op <= OP_REDUCE_PROD) CHECK(st == ST_OK && r.f == (op == OP_REDUCE_PROD));
		else CHECK(ev_failed_with(t, st, ST_ERROR, E_VALUE, "of nothing"));
		fn_unref(t->f);
	}
	ev_drop(&q.x, 1);
}

static void test_along_axis(T *t) {
	static const int64_t shape[3] = {4, 60, 3};
	for (int order = 0; order < 4; order++) {
		for (int axis = 0; axis < 3; axis++) {
			for (int reverse = 0; reverse < 2; reverse++) {
				for (int kind = 0; kind < 4; kind++) {
					static const Op ops[] = {OP_CUMSUM, OP_CUMPROD, OP_ARGSORT, OP_ARGMAX};
					const Dtype d = kind == 2 && order == 1 ? DT_I32 : order == 2 ? DT_F32 : DT_F64;
					Reduce q = {.op = ops[kind], .naxes = 1, .axes = {axis, reverse}};
					q.x = value_tensor(ordered(t, d, order, shape));
					const Tensor *x = q.x.tensor;
					Value r;
					bool good = ev_once(t, make_reduce, &q, &q.x, &r) == ST_OK;
					int64_t index[3] = {0}, n = shape[axis];
					do {
						if (index[axis]) continue;
						double acc = kind == 1;
						int64_t best = 0, place[3];
						for (int64_t i = 0; i < n && good; i++) {
							int64_t k = reverse && kind < 2 ? n - 1 - i : i;
							memcpy(place, index, sizeof place);
							place[axis] = k;
							double v = creal(ev_at(x, place));
							if (kind < 2) {
								acc = kind ? acc * v : acc + v;
								good = ev_off(creal(ev_at(r.tensor, place)), acc) <
								       (d == DT_F32 ? 1e-4 : 1e-13);
							} else if (kind == 2 && i) {
								int64_t b = (int64_t)creal(ev_at(r.tensor, place));
								place[axis] = i - 1;
								int64_t a = (int64_t)creal(ev_at(r.tensor, place));
								place[axis] = a;
								double va = creal(ev_at(x, place));
								place[axis] = b;
								double vb = creal(ev_at(x, place));
								good = (reverse ? va > vb : va < vb) || (va == vb && a < b);
							} else if (kind == 3) {
								place[axis] = best;
								if (v > creal(ev_at(x, place))) best = i;
							}
						}
						if (kind == 3 && good) {
							int64_t short_index[2], m = 0;
							for (int k = 0; k < 3; k++)
								if (k != axis) short_index[m++] = index[k];
							good = (int64_t)creal(ev_at(r.tensor, short_index)) == best;
						}
					} while (ev_step(3, shape, index));
					CHECK(good);
					ev_drop(&r, 1);
					ev_drop(&q.x, 1);
				}
			}
		}
	}
}

static void test_sort_edges(T *t) {
	static const double v[] = {3, NAN, -0.0, 0.0, -INFINITY, INFINITY, NAN, -1, 0.0, -0.0};
	static const int64_t up[] = {4, 7, 2, 3, 8, 9, 0, 5, 1, 6},
						 down[] = {5, 0, 2, 3, 8, 9, 7, 4, 1, 6};
	Tensor *x = tensor_new(t->c, DT_F64, SHAPE(10));
	memcpy(x->data, v, sizeof v);
	for (int descending = 0; descending < 2; descending++) {
		Reduce q = {.op = OP_ARGSORT, .x = value_tensor(x), .axes = {0, descending}};
		Value r;
		CHECK(ev_once(t, make_reduce, &q, &q.x, &r) == ST_OK &&
		      !memcmp(r.tensor->data, descending ? down : up, sizeof up));
		ev_drop(&r, 1);
	}
	tensor_unref(x);
}

/* ---- contraction --------------------------------------------------------- */

typedef struct Dot {
	Value x[2];
	uint32_t ncontract, nbatch;
	int xc[3], yc[3], xb[3], yb[3];
	bool same; /* both operands are the first parameter */
} Dot;

static void make_dot(T *t, const void *what) {
	const Dot *q = what;
	ev_begin(t);
	Type tx = *type_of(t->c, ev_type_like(t, q->x[0], true)),
		 ty = *type_of(t->c, ev_type_like(t, q->x[1], true));
	for (uint32_t k = 0; k < q->ncontract; k++) ty.dims[q->yc[k]] = tx.dims[q->xc[k]];
	for (uint32_t k = 0; k < q->nbatch; k++) ty.dims[q->yb[k]] = tx.dims[q->xb[k]];
	Ref x = ev_param(t, type_tensor(t->c, (Dtype)tx.dtype, tx.rank, tx.dims));
	Ref y = q->same ? x : ev_param(t, type_tensor(t->c, (Dtype)ty.dtype, ty.rank, ty.dims));
	Ref r = build_dot(t->b, x, y, q->ncontract, q->xc, q->yc, q->nbatch, q->xb, q->yb);
	t->f = build_end(t->b, 1, &r);
}

/* Compares with plain loops over every result and every contracted index. */
static double dot_error(T *t, const Dot *q, Value *keep) {
	const Tensor *x = q->x[0].tensor, *y = q->same ? x : q->x[1].tensor;
	Value r;
	if (ev_once(t, make_dot, q, q->x, &r) != ST_OK) {
		ev_show_diags(t);
		diag_clear(t->c);
		return INFINITY;
	}
	int fx[8], fy[8], nx = 0, ny = 0;
	for (int i = 0; i < x->rank; i++) {
		bool used = false;
		for (uint32_t k = 0; k < q->ncontract; k++) used |= q->xc[k] == i;
		for (uint32_t k = 0; k < q->nbatch; k++) used |= q->xb[k] == i;
		if (!used) fx[nx++] = i;
	}
	for (int i = 0; i < y->rank; i++) {
		bool used = false;
		for (uint32_t k = 0; k < q->ncontract; k++) used |= q->yc[k] == i;
		for (uint32_t k = 0; k < q->nbatch; k++) used |= q->yb[k] == i;
		if (!used) fy[ny++] = i;
	}
	int64_t out_shape[8], index[8] = {0}, inner_shape[8];
	uint32_t rank = 0;
	for (uint32_t k = 0; k < q->nbatch; k++) out_shape[rank++] = x->shape[q->xb[k]];
	for (int k = 0; k < nx; k++) out_shape[rank++] = x->shape[fx[k]];
	for (int k = 0; k < ny; k++) out_shape[rank++] = y->shape[fy[k]];
	for (uint32_t k = 0; k < q->ncontract; k++) inner_shape[k] = x->shape[q->xc[k]];
	double worst = 0;
	Tensor *rt = value_to_tensor(t->c, r);
	if (rt->rank != rank || memcmp(rt->shape, out_shape, rank * sizeof *out_shape))
		worst = INFINITY;
	bool sampled = rt->count > 3000; /* large results: every 37th element */
	int64_t count = 0;
	do {
		if (sampled && count++ % 37) continue;
		int64_t ix[8], iy[8], inner[8] = {0};
		uint32_t a = 0;
		for (uint32_t k = 0; k < q->nbatch; k++, a++) ix[q->xb[k]] = iy[q->yb[k]] = index[a];
		for (int k = 0; k < nx; k++, a++) ix[fx[k]] = index[a];
		for (int k = 0; k < ny; k++, a++) iy[fy[k]] = index[a];
		double _Complex sum = 0;
		do {
			for (uint32_t k = 0; k < q->ncontract; k++) ix[q->xc[k]] = iy[q->yc[k]] = inner[k];
			sum += ev_at(x, ix) * ev_at(y, iy);
		} while (ev_step(q->ncontract, inner_shape, inner));
		double e = ev_off(ev_at(rt, index), sum);
		if (!(e <= worst)) worst = e;
	} while (ev_step(rank, out_shape, index));
	tensor_unref(rt);
	if (keep) *keep = r;
	else ev_drop(&r, 1);
	return worst;
}

static Tensor *permuted(T *t, Dtype d, uint32_t rank, const int64_t *shape, const int *perm) {
	int64_t base[MAX_RANK] = {0}, stride[MAX_RANK] = {0}, s = 1;
	for (uint32_t k = 0; k < rank; k++) base[k] = shape[perm[k]];
	Tensor *b = ev_tensor(t, d, rank, base, -2, 2);
	for (uint32_t k = rank; k-- > 0; s *= base[k]) stride[perm[k]] = s;
	Tensor *v = tensor_view(t->c, b, rank, shape, stride, 0);
	tensor_unref(b);
	return v;
}

static double dot_limit(Dtype d) {
	return !dtype_is_inexact(d) ? 0 : dtype_real_of(d) == DT_F32 ? 2e-4 : 1e-12;
}

static void test_dot(T *t) {
	static const int64_t sizes[][3] = {{1, 1, 1},   {3, 4, 5},    {1, 40, 60},  {50, 1, 40},
	                                   {40, 40, 1}, {33, 20, 47}, {64, 65, 66}, {300, 3, 17},
	                                   {2, 900, 2}, {600, 40, 8}, {5, 0, 4},    {0, 3, 4}};
	for (Dtype d = DT_I32; d < DT_COUNT; d++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int turned = 0; turned < 4; turned++) {
				const int64_t m = sizes[k][0], c = sizes[k][1], n = sizes[k][2];
				Dot q = {.ncontract = 1, .xc = {1}, .yc = {0}};
				q.x[0] = value_tensor(
					permuted(t, d, SHAPE(m, c), turned & 1 ? (int[]){1, 0} : (int[]){0, 1}));
				q.x[1] = value_tensor(
					permuted(t, d, SHAPE(c, n), turned & 2 ? (int[]){1, 0} : (int[]){0, 1}));
				double e = m && c ? dot_error(t, &q, NULL) : 0;
				if (!m || !c) {
					Value r;
					CHECK(ev_once(t, make_dot, &q, q.x, &r) == ST_OK);
					int64_t index[2] = {0};
					do e += m ? cabs(ev_at(r.tensor, index)) : 0;
					while (m && ev_step(2, r.tensor->shape, index));
					ev_drop(&r, 1);
				}
				if (!(e <= dot_limit(d)))
					printf("dot %s %lldx%lldx%lld turned %d: %g\n", dtype_name(d), (long long)m,
					       (long long)c, (long long)n, turned, e);
				CHECK(e <= dot_limit(d));
				ev_drop(q.x, 2);
			}
}

static void test_dot_general(T *t) {
	for (Dtype d = DT_I64; d <= DT_C128; d++) {
		for (int turn = 0; turn < 40; turn++) {
			/* Random axes: up to 2 contracted, 2 batch and 2 free each, all
			 * shuffled. */
			int64_t len_of[8];
			Dot q = {.ncontract = (uint32_t)ev_below(t, 3), .nbatch = (uint32_t)ev_below(t, 3)};
			const int nfx = (int)ev_below(t, 3), nfy = (int)ev_below(t, 3),
					  nx = (int)(q.ncontract + q.nbatch) + nfx,
					  ny = (int)(q.ncontract + q.nbatch) + nfy;
			for (int k = 0; k < 8; k++) len_of[k] = 1 + ev_below(t, turn % 4 ? 5 : 19);
			int px[8], py[8], sx[8], sy[8];
			for (int k = 0; k < 8; k++) px[k] = py[k] = sx[k] = sy[k] = k;
			for (int k = nx; k-- > 1;) {
				int j = (int)ev_below(t, k + 1), a = (int)ev_below(t, k + 1), w = px[k];
				px[k] = px[j], px[j] = w;
				w = sx[k], sx[k] = sx[a], sx[a] = w;
			}
			for (int k = ny; k-- > 1;) {
				int j = (int)ev_below(t, k + 1), a = (int)ev_below(t, k + 1), w = py[k];
				py[k] = py[j], py[j] = w;
				w = sy[k], sy[k] = sy[a], sy[a] = w;
			}
			int64_t xs[8], ys[8];
			for (int k = 0; k < nx; k++)
				xs[px[k]] = k < (int)(q.ncontract + q.nbatch) ? len_of[k] : 2 + k;
			for (int k = 0; k < ny; k++)
				ys[py[k]] = k < (int)(q.ncontract + q.nbatch) ? len_of[k] : 3 + k;
			for (uint32_t k = 0; k < q.ncontract; k++) q.xc[k] = px[k], q.yc[k] = py[k];
			for (uint32_t k = 0; k < q.nbatch; k++)
				q.xb[k] = px[q.ncontract + k], q.yb[k] = py[q.ncontract + k];
			if (!nx || !ny) continue;
			q.x[0] = value_tensor(permuted(t, d, (uint32_t)nx, xs, sx));
			q.x[1] = value_tensor(permuted(t, d, (uint32_t)ny, ys, sy));
			double e = dot_error(t, &q, NULL);
			CHECK(e <= dot_limit(d));
			ev_drop(q.x, 2);
		}
		/* A batch with a broadcast operand folds; a product with itself is
		 * symmetric. */
		Tensor *w = ev_tensor(t, d, SHAPE(30, 25), -2, 2);
		Tensor *many = tensor_view(t->c, w, SHAPE(6, 30, 25), (int64_t[]){0, 25, 1}, 0);
		Dot q = {.ncontract = 1, .nbatch = 1, .xc = {2}, .yc = {1}, .xb = {0}, .yb = {0}};
		q.x[0] = value_tensor(ev_tensor(t, d, SHAPE(6, 40, 30), -2, 2));
		q.x[1] = value_tensor(many);
		CHECK(dot_error(t, &q, NULL) <= dot_limit(d));
		ev_drop(q.x, 1);
		q.x[0] = value_tensor(ev_tensor(t, d, SHAPE(6, 30), -2, 2));
		q.xc[0] = 1;
		CHECK(dot_error(t, &q, NULL) <= dot_limit(d));
		q.x[0].tensor = (tensor_unref(q.x[0].tensor),
		                 tensor_view(t->c, w, SHAPE(6, 30), (int64_t[]){0, 25}, 0));
		tensor_unref(q.x[1].tensor);
		q.x[1] = value_tensor(ev_tensor(t, d, SHAPE(6, 30, 25), -2, 2));
		CHECK(dot_error(t, &q, NULL) <= dot_limit(d));
		ev_drop(q.x, 2);
		tensor_unref(w);
		Dot j = {.ncontract = 1, .xc = {0}, .yc = {0}, .same = true};
		j.x[0] = j.x[1] = value_tensor(ev_tensor(t, d, SHAPE(500, 40), -2, 2));
		Value r = {.kind = V_UNSET};
		CHECK(dot_error(t, &j, &r) <= dot_limit(d));
		bool symmetric = true;
		for (int64_t a = 0; a < 40; a++)
			for (int64_t b = 0; b < a; b++)
				symmetric &=
					ev_at(r.tensor, (int64_t[]){a, b}) == ev_at(r.tensor, (int64_t[]){b, a});
		CHECK(symmetric);
		ev_drop(&r, 1);
		ev_drop(j.x, 1);
	}
}

/* ---- gather, scatter ----------------------------------------------------- */

typedef struct Places {
	Op op;
	Value v[3];
	int axis, batch;
	bool small; /* types with constant extents */
} Places;

static void make_places(T *t, const void *what) {
	const Places *q = what;
	ev_begin(t);
	Ref x = ev_param(t, ev_type_like(t, q->v[0], false)),
		i = ev_param(t, ev_type_like(t, q->v[1], false));
	Ref r = q->op == OP_GATHER
	            ? build_gather(t->b, x, i, q->axis, q->batch)
	            : build_scatter(t->b, q->op, x, i, ev_param(t, ev_type_like(t, q->v[2], false)),
	                            q->axis, q->batch);
	t->f = build_end(t->b, 1, &r);
}

static void test_places(T *t) {
	static const struct {
		int64_t x[3], i[3];
		uint32_t nx, ni;
		int axis, batch;
	} cases[] = {
		{{9}, {0}, 1, 0, 0, 0},           {{9}, {5}, 1, 1, 0, 0},
		{{9}, {2, 3}, 1, 2, 0, 0},        {{6, 4}, {0}, 2, 0, 0, 0},
		{{6, 4}, {0}, 2, 0, 1, 0},        {{6, 4}, {7}, 2, 1, 0, 0},
		{{6, 4}, {7}, 2, 1, 1, 0},        {{6, 4}, {6, 3}, 2, 2, 1, 1},
		{{6, 4}, {6}, 2, 1, 1, 1},        {{3, 4, 5}, {3, 2}, 3, 2, 1, 1},
		{{3, 4, 5}, {3, 2}, 3, 2, 2, 1},  {{3, 4, 5}, {3, 4, 2}, 3, 3, 2, 2},
		{{3, 4, 5}, {2, 2}, 3, 2, 1, 0},  {{3, 4, 5}, {3, 4}, 3, 2, 2, 2},
		{{50, 40, 2}, {300}, 3, 1, 1, 0},
	};
	static const int normal[3] = {0, 1, 2}, turned2[3] = {1, 0, 2}, turned3[3] = {2, 0, 1};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		for (int order = 0; order < 2; order++) {
			for (Dtype d = DT_BOOL; d < DT_COUNT; d++) {
				const uint32_t nx = cases[k].nx, ni = cases[k].ni;
				const int axis = cases[k].axis, batch = cases[k].batch;
				Places q = {.axis = axis, .batch = batch};
				q.v[0] = value_tensor(permuted(t, d, nx, cases[k].x,
				                               !order    ? normal
				                               : nx == 3 ? turned3
				                               : nx == 2 ? turned2
				                                         : normal));
				const Tensor *x = q.v[0].tensor;
				Tensor *i = ev_tensor(t, order ? DT_I32 : DT_I64, ni, cases[k].i, 0,
				                      (double)x->shape[axis]);
				q.v[1] = ni ? value_tensor(i) : value_from_tensor(i);
				int64_t shape[6], index[6] = {0};
				uint32_t n = 0;
				for (int a = 0; a < axis; a++) shape[n++] = x->shape[a];
				for (uint32_t a = (uint32_t)batch; a < ni; a++) shape[n++] = cases[k].i[a];
				for (uint32_t a = (uint32_t)axis + 1; a < nx; a++) shape[n++] = x->shape[a];
				Tensor *u = ev_tensor(t, d, n, shape, -3, 3);
				Value r[3] = {{.kind = V_UNSET}, {.kind = V_UNSET}, {.kind = V_UNSET}};
				q.v[2] = n ? value_tensor(u) : value_from_tensor(tensor_ref(u));
				for (int op = 0; op < 3; op++) {
					q.op = (Op)(OP_GATHER + op);
					if (q.op == OP_SCATTER_ADD && d == DT_BOOL) continue;
					CHECK(ev_once(t, make_places, &q, q.v, &r[op]) == ST_OK);
				}
				Tensor *add = tensor_copy(t->c, x), *set = tensor_copy(t->c, x),
					   *got = value_to_tensor(t->c, r[0]);
				Tensor *indices = value_to_tensor(t->c, q.v[1]);
				bool good = true;
				do { /* every result of gather is an index */
					int64_t at_x[3], at_i[6], to = 0;
					for (int a = 0; a < batch; a++) at_i[a] = index[a];
					for (uint32_t a = (uint32_t)batch; a < ni; a++)
						at_i[a] = index[(uint32_t)axis + a - (uint32_t)batch];
					for (int a = 0; a < axis; a++) at_x[a] = index[a];
					at_x[axis] = (int64_t)creal(ev_at(indices, at_i));
					for (uint32_t a = (uint32_t)axis + 1; a < nx; a++) at_x[a] = index[n - nx + a];
					for (uint32_t a = 0; a < nx; a++) to = to * x->shape[a] + at_x[a];
					double _Complex v = ev_at(x, at_x), w = ev_at(u, index);
					good &= ev_at(got, index) == v;
					const size_t size = dtype_size(d);
					double _Complex sum = ev_at(add, at_x) + w;
					if (d != DT_BOOL)
						scalar_convert(DT_C128, &sum, d, add->data + to * (int64_t)size);
					scalar_convert(DT_C128, &w, d, set->data + to * (int64_t)size);
				} while (ev_step(n, shape, index));
				CHECK(good);
				if (d != DT_BOOL) {
					Value w = value_tensor(add);
					good = true;
					int64_t j[3] = {0};
					do good &= ev_off(ev_at(r[1].tensor, j), ev_at(w.tensor, j)) < 1e-6;
					while (ev_step(nx, x->shape, j));
					CHECK(good);
				}
				CHECK(value_identical(r[2], value_tensor(set)));
				tensor_unref(add);
				tensor_unref(set);
				tensor_unref(got);
				tensor_unref(indices);
				if (!n) tensor_unref(u);
				ev_drop(r, 3);
				ev_drop(q.v, 3);
			}
		}
	}
	/* Out of range, in every form. */
	for (int form = 0; form < 6; form++) {
		Places q = {.op = form < 3 ? OP_GATHER : OP_SCATTER_SET};
		Tensor *i = ev_tensor(t, DT_I64, SHAPE(3), 0, 5);
		((int64_t *)(void *)i->data)[2] = form % 3 == 1 ? -1 : 5;
		q.v[0] = value_tensor(ev_tensor(t, DT_F64, SHAPE(5), 0, 1));
		q.v[1] = form % 3 == 2 ? value_i64(5) : value_tensor(i);
		q.v[2] = form % 3 == 2 ? value_f64(1) : value_tensor(ev_tensor(t, DT_F64, SHAPE(3), 0, 1));
		Value r;
		CHECK(ev_failed_with(t, ev_once(t, make_places, &q, q.v, &r), ST_ERROR, E_INDEX,
		                     form % 3 == 1 ? "index -1" : "index 5"));
		if (form % 3 == 2) tensor_unref(i);
		ev_drop(q.v, 3);
	}
}

static void make_nonzero(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref x = ev_param(t, ev_vec_of(t, DT_BOOL, build_fresh_dim(t->b, 0, 0))), r[2];
	Dim k = build_fresh_dim(t->b, atom(t->c, "k"), 0);
	TypeId type = ev_vec_of(t, DT_I64, k);
	r[0] =
		build_typed(t->b, OP_NONZERO, 1, &x, attr_intern(t->c, (int64_t[]){k}, 1), 1, &type, NULL);
	r[1] = build_extent(t->b, k);
	t->f = build_end(t->b, 2, r);
}

static void test_nonzero(T *t) {
	Value x = value_tensor(ev_tensor(t, DT_BOOL, SHAPE(5000), 0, 1)), r[2];
	CHECK(ev_once(t, make_nonzero, NULL, &x, r) == ST_OK);
	int64_t k = 0;
	bool good = true;
	for (int64_t i = 0; i < 5000; i++)
		if (x.tensor->data[i])
			good =
				good && k < r[0].tensor->count && ((int64_t *)(void *)r[0].tensor->data)[k++] == i;
	CHECK(good && k == r[0].tensor->count && r[1].i == k);
	ev_drop(r, 1);
	ev_drop(&x, 1);
}

/* ---- linear algebra ------------------------------------------------------ */

typedef struct Lin {
	Op op;
	Value x[2];
	int64_t words[3];
} Lin;

static void make_lin(T *t, const void *what) {
	const Lin *q = what;
	ev_begin(t);
	const bool two = q->op == OP_TRISOLVE;
	Ref x[2] = {ev_param(t, ev_type_like(t, q->x[0], false)),
	            two ? ev_param(t, ev_type_like(t, q->x[1], false)) : REF_NONE},
		r[3];
	const bool fft = q->op == OP_FFT;
	build(t->b, q->op, two ? 2 : 1, x, two || fft ? attr_intern(t->c, q->words, two ? 3 : 2) : 0,
	      r);
	t->f = build_end(t->b, (uint32_t)prims[q->op].nres, r);
}

static Tensor *product(T *t, const Tensor *x, bool x_adjoint, const Tensor *y, bool y_adjoint,
                       const Tensor *diagonal) {
	int64_t m = x->shape[x_adjoint], k = x->shape[!x_adjoint], n = y->shape[!y_adjoint];
	Tensor *o = tensor_new(t->c, DT_C128, SHAPE(m, n));
	double _Complex *p = (void *)o->data;
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double _Complex sum = 0;
			for (int64_t l = 0; l < k; l++) {
				double _Complex a =
					x_adjoint ? conj(ev_at(x, (int64_t[]){l, i})) : ev_at(x, (int64_t[]){i, l});
				double _Complex b =
					y_adjoint ? conj(ev_at(y, (int64_t[]){j, l})) : ev_at(y, (int64_t[]){l, j});
				sum += a * (diagonal ? ev_at(diagonal, &l) : 1) * b;
			}
			*p++ = sum;
		}
	return o;
}

/* Returns the largest difference; takes a. */
static double apart(Tensor *a, const Tensor *b) {
	double worst = 0;
	int64_t index[2] = {0};
	do worst = fmax(worst, cabs(ev_at(a, index) - (b ? ev_at(b, index) : index[0] == index[1])));
	while (ev_step(2, a->shape, index));
	tensor_unref(a);
	return worst;
}

/* Returns matrix b of a batch. */
static Tensor *slice_of(T *t, Value v, int64_t b) {
	Tensor *x = v.tensor;
	return tensor_view(t->c, x, x->rank - 1u, x->shape + 1, x->stride + 1, b * x->stride[0]);
}

static bool triangular(const Tensor *x, bool lower) {
	int64_t index[2] = {0};
	bool good = true;
	do good &= (lower ? index[1] <= index[0] : index[0] <= index[1]) || ev_at(x, index) == 0;
	while (ev_step(2, x->shape, index));
	return good;
}

typedef struct Matrices { /* two matrices of each kind, and the tolerance */
	Dtype d;
	int64_t n;
	double eps;
	Tensor *general, *spd;
} Matrices;

static void hermitian(T *t, const Matrices *k) {
	const int64_t n = k->n;
	const double eps = k->eps;
	Value r[3];
	Lin q = {.op = OP_CHOLESKY, .x = {value_tensor(k->spd)}};
	CHECK(ev_once(t, make_lin, &q, q.x, r) == ST_OK);
	for (int64_t b = 0; b < 2; b++) {
		Tensor *l = slice_of(t, r[0], b), *a = slice_of(t, q.x[0], b);
		CHECK(triangular(l, true) &&
		      apart(product(t, l, false, l, true, NULL), a) < eps * (double)n);
		tensor_unref(l), tensor_unref(a);
	}
	ev_drop(r, 1);
	q.op = OP_EIGH;
	CHECK(ev_once(t, make_lin, &q, q.x, r) == ST_OK);
	for (int64_t b = 0; b < 2; b++) {
		Tensor *w = slice_of(t, r[0], b), *v = slice_of(t, r[1], b), *a = slice_of(t, q.x[0], b);
		CHECK(apart(product(t, v, false, v, true, w), a) < eps * (double)n &&
		      apart(product(t, v, true, v, false, NULL), NULL) < eps);
		for (int64_t i = 1; i < n; i++)
			if (creal(ev_at(w, (int64_t[]){i})) < creal(ev_at(w, (int64_t[]){i - 1}))) CHECK(false);
		tensor_unref(w), tensor_unref(v), tensor_unref(a);
	}
	ev_drop(r, 2);
}

static void square(T *t, const Matrices *k) {
	const Dtype d = k->d;
	const int64_t n = k->n;
	const double eps = k->eps;
	Value r[3];
	Lin q = {.op = OP_LU, .x = {value_tensor(k->general)}};
	CHECK(ev_once(t, make_lin, &q, q.x, r) == ST_OK);
	for (int64_t b = 0; b < 2; b++) {
		Tensor *lu = slice_of(t, r[0], b), *a = slice_of(t, q.x[0], b),
			   *l = tensor_zeros(t->c, DT_C128, SHAPE(n, n)),
			   *u = tensor_zeros(t->c, DT_C128, SHAPE(n, n)),
			   *pa = tensor_zeros(t->c, DT_C128, SHAPE(n, n));
		for (int64_t i = 0; i < n; i++)
			for (int64_t j = 0; j < n; j++) {
				int64_t p = ((int64_t *)(void *)r[1].tensor->data)[b * n + i];
				((double _Complex *)(void *)(i > j ? l : u)->data)[i * n + j] =
					ev_at(lu, (int64_t[]){i, j});
				((double _Complex *)(void *)pa->data)[i * n + j] = ev_at(a, (int64_t[]){p, j});
				if (i == j) ((double _Complex *)(void *)l->data)[i * n + j] = 1;
			}
		CHECK(apart(product(t, l, false, u, false, NULL), pa) < eps);
		tensor_unref(lu), tensor_unref(a), tensor_unref(l), tensor_unref(u), tensor_unref(pa);
	}
	ev_drop(r, 2);
	q.op = OP_EIG;
	CHECK(ev_once(t, make_lin, &q, q.x, r) == ST_OK);
	for (int64_t b = 0; b < 2; b++) {
		Tensor *w = slice_of(t, r[0], b), *v = slice_of(t, r[1], b), *a = slice_of(t, q.x[0], b);
		Tensor *av = product(t, a, false, v, false, NULL);
		double worst = 0;
		for (int64_t j = 0; j < n; j++) {
			double norm = 0;
			for (int64_t i = 0; i < n; i++) {
				worst = fmax(worst, cabs(ev_at(av, (int64_t[]){i, j}) -
				                         ev_at(w, &j) * ev_at(v, (int64_t[]){i, j})));
				norm += pow(cabs(ev_at(v, (int64_t[]){i, j})), 2);
			}
			worst = fmax(worst, fabs(norm - 1));
		}
		CHECK(worst < eps && r[0].tensor->dtype == dtype_complex_of(d));
		tensor_unref(w), tensor_unref(v), tensor_unref(a), tensor_unref(av);
	}
	ev_drop(r, 2);
}

static void rectangular(T *t, const Matrices *k) {
	const Dtype d = k->d;
	const int64_t n = k->n;
	const double eps = k->eps;
	const int64_t m = n + 7;
	Lin q;
	Value r[3];
	for (int wide = 0; wide < 2; wide++) {
		Tensor *x = ev_tensor(t, d, SHAPE(2, wide ? n : m, wide ? m : n), -1, 1);
		q = (Lin){.op = OP_SVD, .x = {value_tensor(x)}};
		CHECK(ev_once(t, make_lin, &q, q.x, r) == ST_OK);
		for (int64_t b = 0; b < 2; b++) {
			Tensor *u = slice_of(t, r[0], b), *s = slice_of(t, r[1], b), *v = slice_of(t, r[2], b),
				   *a = slice_of(t, q.x[0], b);
			CHECK(apart(product(t, u, false, v, true, s), a) < eps &&
			      apart(product(t, u, true, u, false, NULL), NULL) < eps &&
			      apart(product(t, v, true, v, false, NULL), NULL) < eps);
			tensor_unref(u), tensor_unref(s), tensor_unref(v), tensor_unref(a);
		}
		ev_drop(r, 3);
		if (!wide) {
			q.op = OP_QR;
			CHECK(ev_once(t, make_lin, &q, q.x, r) == ST_OK);
			for (int64_t b = 0; b < 2; b++) {
				Tensor *qq = slice_of(t, r[0], b), *rr = slice_of(t, r[1], b),
					   *a = slice_of(t, q.x[0], b);
				bool positive = true;
				for (int64_t i = 0; i < n; i++) positive &= creal(ev_at(rr, (int64_t[]){i, i})) > 0;
				CHECK(positive && triangular(rr, false) &&
				      apart(product(t, qq, false, rr, false, NULL), a) < eps &&
				      apart(product(t, qq, true, qq, false, NULL), NULL) < eps);
				tensor_unref(qq), tensor_unref(rr), tensor_unref(a);
			}
			ev_drop(r, 2);
		}
		ev_drop(q.x, 1);
	}
}

static void triangles(T *t, const Matrices *k) {
	const Dtype d = k->d;
	const int64_t n = k->n;
	const double eps = k->eps;
	Lin q;
	Value r[3];
	for (int bits3 = 0; bits3 < 8; bits3++) {
		const bool lower = bits3 & 1, adjoint = bits3 & 2, unit = bits3 & 4;
		q = (Lin){.op = OP_TRISOLVE,
		          .x = {value_tensor(k->spd), value_tensor(ev_tensor(t, d, SHAPE(2, n, 5), -1, 1))},
		          .words = {lower, adjoint, unit}};
		if (unit) { /* well conditioned: small off-diagonal elements */
			q.x[0] =
				value_tensor(ev_tensor(t, d, SHAPE(2, n, n), -0.5 / (double)n, 0.5 / (double)n));
		} else {
			value_ref(q.x[0]);
		}
		CHECK(ev_once(t, make_lin, &q, q.x, r) == ST_OK);
		for (int64_t b = 0; b < 2; b++) {
			Tensor *x = slice_of(t, r[0], b), *rhs = slice_of(t, q.x[1], b),
				   *m1 = slice_of(t, q.x[0], b), *tri = tensor_zeros(t->c, DT_C128, SHAPE(n, n));
			for (int64_t i = 0; i < n; i++)
				for (int64_t j = 0; j < n; j++)
					((double _Complex *)(void *)tri->data)[i * n + j] =
						i == j && unit              ? 1
						: (lower ? j <= i : i <= j) ? ev_at(m1, (int64_t[]){i, j})
													: 0;
			CHECK(apart(product(t, tri, adjoint, x, false, NULL), rhs) < eps * (double)n);
			tensor_unref(x), tensor_unref(rhs), tensor_unref(m1), tensor_unref(tri);
		}
		ev_drop(r, 1);
		ev_drop(q.x, 2);
	}
}

/* Matrices without a factorisation. */
static void singular(T *t, const Matrices *k) {
	const Dtype d = k->d;
	const int64_t n = k->n;
	Lin q;
	Value r[3];
	Tensor *zero = tensor_zeros(t->c, d, SHAPE(2, n, n));
	static const Op ops[] = {OP_CHOLESKY, OP_LU};
	for (int o = 0; o < 2; o++) {
		q = (Lin){.op = ops[o], .x = {value_tensor(zero)}};
		CHECK(ev_failed_with(t, ev_once(t, make_lin, &q, q.x, r), ST_ERROR, E_SINGULAR, "pivot 0"));
	}
	q = (Lin){
		.op = OP_TRISOLVE, .x = {value_tensor(zero), value_tensor(k->general)}, .words = {1, 0, 0}};
	CHECK(ev_failed_with(t, ev_once(t, make_lin, &q, q.x, r), ST_ERROR, E_SINGULAR, "singular"));
	tensor_unref(zero);
}

static void test_linalg(T *t) {
	static const int sizes[] = {1, 3, 24, 40};
	for (int i = 0; i < 4 * DT_COUNT; i++) {
		Matrices k = {.d = (Dtype)(i / 4), .n = sizes[i % 4]};
		if (!dtype_is_inexact(k.d)) continue;
		k.eps = (dtype_real_of(k.d) == DT_F32 ? 2e-4 : 1e-12) * (double)(k.n + 3);
		k.general = ev_tensor(t, k.d, SHAPE(2, k.n, k.n), -1, 1);
		/* Hermitian and positive definite: G Gᴴ + n. */
		k.spd = tensor_new(t->c, k.d, SHAPE(2, k.n, k.n));
		for (int64_t b = 0; b < 2; b++) {
			Tensor *g = slice_of(t, value_tensor(k.general), b),
				   *p = product(t, g, false, g, true, NULL);
			Tensor *to = slice_of(t, value_tensor(k.spd), b);
			for (int64_t j = 0; j < k.n; j++)
				((double _Complex *)(void *)p->data)[j * (k.n + 1)] += (double)k.n;
			tensor_convert_into(to, p);
			tensor_unref(g), tensor_unref(p), tensor_unref(to);
		}
		hermitian(t, &k);
		square(t, &k);
		rectangular(t, &k);
		triangles(t, &k);
		singular(t, &k);
		tensor_unref(k.general);
		tensor_unref(k.spd);
	}
}

static void test_fft(T *t) {
	for (Dtype d = DT_C64; d <= DT_C128; d++)
		for (int axis = 0; axis < 3; axis++)
			for (int inverse = 0; inverse < 2; inverse++) {
				const int64_t shape[3] = {5, 6, 7};
				Lin q = {.op = OP_FFT,
				         .x = {value_tensor(ev_tensor(t, d, 3, shape, -1, 1))},
				         .words = {axis, inverse}};
				Value r;
				CHECK(ev_once(t, make_lin, &q, q.x, &r) == ST_OK);
				double worst = 0;
				int64_t index[3] = {0}, n = shape[axis];
				do {
					double _Complex sum = 0;
					int64_t place[3];
					memcpy(place, index, sizeof place);
					for (int64_t k = 0; k < n; k++) {
						place[axis] = k;
						double a =
							(inverse ? 2 : -2) * M_PI * (double)(k * index[axis]) / (double)n;
						sum += ev_at(q.x[0].tensor, place) * __builtin_complex(cos(a), sin(a));
					}
					if (inverse) sum /= (double)n;
					worst = fmax(worst, cabs(sum - ev_at(r.tensor, index)));
				} while (ev_step(3, shape, index));
				CHECK(worst < (d == DT_C64 ? 1e-5 : 1e-13));
				ev_drop(&r, 1);
				ev_drop(q.x, 1);
			}
}

/* ---- random bits --------------------------------------------------------- */

static void make_random(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref s = ev_param(t, ev_vec(t, DT_I64, 2)), r[3];
	build(t->b, OP_RANDOM, 1, &s,
	      attr_intern(t->c, (int64_t[]){2, ev_len(t, 30), ev_len(t, 50)}, 3), r);
	build(t->b, OP_RANDOM, 1, &r[1], attr_intern(t->c, (int64_t[]){0}, 1), &r[1]);
	t->f = build_end(t->b, 3, r);
}

static void test_random(T *t) {
	static const struct {
		uint32_t counter[4], key[2], want[4];
	} known[3] = {
		/* From the kat_vectors of Random123 1.09. */
		{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
	     {0xffffffff, 0xffffffff},
	     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
	     {0xa4093822, 0x299f31d0},
	     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};
	for (int k = 0; k < 3; k++) {
		uint32_t out[4];
		philox4x32_10(known[k].counter, known[k].key, out);
		CHECK(!memcmp(out, known[k].want, sizeof out));
	}
	Tensor *s = tensor_new(t->c, DT_I64, SHAPE(2));
	((int64_t *)(void *)s->data)[0] = 0x123456789abcdef;
	((int64_t *)(void *)s->data)[1] = 0xfffffffe;
	Value state = value_tensor(s), r[3];
	CHECK(ev_once(t, make_random, NULL, &state, r) == ST_OK);
	bool good = true;
	for (uint64_t i = 0; i < 1501; i++) {
		uint64_t counter = 0xfffffffeu + i;
		uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0},
				 key[2] = {0x89abcdef, 0x01234567}, out[4];
		philox4x32_10(c, key, out);
		uint64_t want = out[0] | (uint64_t)out[1] << 32,
				 got = i < 1500 ? ((uint64_t *)(void *)r[0].tensor->data)[i] : (uint64_t)r[1].i;
		good &= want == got;
	}
	CHECK(good && r[0].tensor->shape[0] == 30);
	CHECK(((int64_t *)(void *)r[2].tensor->data)[0] == 0x123456789abcdef &&
	      ((int64_t *)(void *)r[2].tensor->data)[1] == (int64_t)0xfffffffe + 1501);
	ev_drop(r, 3);
	ev_drop(&state, 1);
}

int main(void) {
	static const TestCase tests[] = {
		{"reduce", test_reduce},
		{"reduce edges", test_reduce_edges},
		{"along axis", test_along_axis},
		{"sort", test_sort_edges},
		{"dot", test_dot},
		{"dot general", test_dot_general},
		{"places", test_places},
		{"nonzero", test_nonzero},
		{"linalg", test_linalg},
		{"fft", test_fft},
		{"random", test_random},
	};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
