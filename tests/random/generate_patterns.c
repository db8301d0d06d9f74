/* generate_patterns.c - steps with patterns of primitives that compilers fuse.
 *
 * Needs: generate_internal.h.
 *
 * Guarantees: each pattern can end in a shape that other steps use. Extents are
 * those of the pool.
 */
#include "tests/random/generate_internal.h"

/* Returns a real matrix; its first axis is usually a symbol. */
static V rows(Gen *g, Dim *n, Dim *m) {
	V x;
	if (!choose_if(g, KIND_R, 2, 2, &x)) {
		Dim dims[2] = {symbol_dim(g)};
		dims[1] = small_dim(g, 2, 5);
		x = fit(g, choose(g, KIND_R, 0, 2), 2, dims);
	}
	Type t = type_at(g, x.ref);
	*n = t.dims[0];
	*m = t.dims[1];
	return x;
}

/* Broadcasts a vector or scalar to the shape of x, along its axis `axis`. */
static V along(Gen *g, V v, V x, int axis) {
	Type t = type_at(g, x.ref);
	return (V){build_broadcast(g->b, v.ref, t.rank, t.dims, &axis), v.mag};
}

static V product(Gen *g, V x, V y, double limit) {
	x = tame(g, x, limit);
	return apply2(g, OP_MUL, x, tame(g, y, limit));
}

/* Builds a chain of operations on one shape. */
static V chain(Gen *g, V x, uint32_t n) {
	for (uint32_t k = 0; k < n; k++) {
		V y = chance(g, 50) ? partner(g, x, KIND_I | KIND_R) : x;
		switch (below(g, 9)) {
		case 0: x = apply2(g, OP_ADD, x, y); break;
		case 1: x = product(g, x, y, 10); break;
		case 2: x = apply2(g, OP_SUB, x, y); break;
		case 3: x = tame(g, x, 2); break;
		case 4: x = apply2(g, OP_MAX, x, y); break;
		case 5: {
			V d = positive(g, y);
			x = (V){build2(g->b, OP_DIV, x.ref, d.ref), 4 * x.mag};
			break;
		}
		case 6: x = times(g, x, between(g, -1.5, 1.5)); break;
		case 7: {
			Ref c = build2(g->b, OP_LT, generic(g, x).ref, y.ref);
			x = (V){build_select(g->b, c, x.ref, y.ref), fmax(x.mag, y.mag)};
			break;
		}
		default:
			x = apply1(g, OP_COS, tame(g, x, 30));
			x.mag = 1;
			break;
		}
		if (!(x.mag < 1e4)) x = tame(g, x, 3);
	}
	return x;
}

static bool step_chain(Gen *g) {
	V x = choose(g, KIND_R, 0, 3);
	put(g, chain(g, x, 3 + (uint32_t)below(g, 6)));
	return true;
}

/* Row-wise operations, then a reduction over the rows: a loss. */
static bool step_row_local(Gen *g) {
	Dim n, m;
	V x = rows(g, &n, &m);
	if (least(g, m) < 1 || least(g, n) < 1) return false;
	x = chain(g, x, 2 + (uint32_t)below(g, 3));
	V r = reduced(g, chance(g, 70) ? OP_REDUCE_SUM : OP_REDUCE_MAX, x, 1, (int[]){1});
	r = tame(g, r, 4);
	r = chain(g, r, 1 + (uint32_t)below(g, 3));
	put(g, r);
	if (chance(g, 40)) put(g, product(g, x, along(g, r, x, 0), 10));
	V sum = reduced(g, OP_REDUCE_SUM, tame(g, r, 10), 1, (int[]){0});
	if (chance(g, 50)) sum = times(g, sum, 1.0 / (double)most(g, n));
	put(g, sum);
	if (chance(g, 30)) put(g, reduced(g, OP_REDUCE_SUM, tame(g, x, 10), 1, (int[]){0}));
	return true;
}

static bool step_softmax(Gen *g) {
	Dim n, m;
	V x = tame(g, rows(g, &n, &m), 20);
	int axis = chance(g, 75) ? 1 : 0;
	if (least(g, axis ? m : n) < 1) return false;
	V top = reduced(g, OP_REDUCE_MAX, x, 1, &axis);
	V e = apply1(g, OP_EXP, apply2(g, OP_SUB, x, along(g, top, x, 1 - axis)));
	e.mag = 1;
	V sum = reduced(g, OP_REDUCE_SUM, e, 1, &axis);
	V p = apply2(g, OP_DIV, e, along(g, sum, x, 1 - axis));
	p.mag = 1;
	put(g, p);
	if (chance(g, 50))
		put(g, (V){build2(g->b, OP_ADD, build1(g->b, OP_LOG, sum.ref), top.ref), 30});
	return true;
}

static bool step_normalise(Gen *g) {
	Dim n, m;
	V x = tame(g, rows(g, &n, &m), 20);
	if (least(g, m) < 2) return false; /* with one element it is 0/0 up to roundings */
	double by = 1.0 / (double)least(g, m);
	V mean = times(g, reduced(g, OP_REDUCE_SUM, x, 1, (int[]){1}), by);
	V d = apply2(g, OP_SUB, x, along(g, mean, x, 0));
	V var = times(g, reduced(g, OP_REDUCE_SUM, apply2(g, OP_MUL, d, d), 1, (int[]){1}), by);
	V s = apply1(g, OP_SQRT, shifted(g, var, 0.01));
	V y = apply2(g, OP_DIV, d, along(g, s, x, 0));
	y.mag = 100;
	put(g, y);
	return true;
}

/* tanh(x @ W + b), for up to three layers; all rows share the weights. */
static bool step_layer(Gen *g) {
	Dim n, m;
	V x = tame(g, rows(g, &n, &m), 10);
	Dtype d = (Dtype)type_at(g, x.ref).dtype;
	uint32_t layers = 1 + (uint32_t)below(g, 3);
	for (uint32_t k = 0; k < layers; k++) {
		m = type_at(g, x.ref).dims[1];
		Dim shape[2] = {m, chance(g, 85) ? small_dim(g, 1, 7) : symbol_dim(g)},
			out[2] = {n, shape[1]};
		if (!affordable(g, 2, shape) || !affordable(g, 2, out)) return false;
		V w, b;
		TypeId t = type_tensor(g->c, d, 2, shape);
		if (!choose_type(g, t, &w)) {
			/* equal weights would hide a wrong index */
			V a = {build_iota(g->b, d, shape[0]), 1}, z = {build_iota(g->b, d, shape[1]), 1};
			a = (V){build_broadcast(g->b, a.ref, 2, shape, (int[]){0}), 1};
			z = (V){build_broadcast(g->b, z.ref, 2, shape, (int[]){1}), 1};
			a = times(g, a, 1.37);
			z = times(g, z, between(g, 0.3, 2.9));
			w = apply1(g, OP_SIN, apply2(g, OP_ADD, a, z));
			w.mag = 1;
		}
		V z = {build_matmul(g->b, x.ref, w.ref), x.mag * w.mag * (double)most(g, m)};
		b = fit(g, as_dtype(g, choose(g, KIND_R, 0, 1), d), 1, &shape[1]);
		z = apply2(g, OP_ADD, z, along(g, b, z, 1));
		static const Op bends[] = {OP_TANH, OP_SIN, OP_ATAN, OP_ERF};
		x = chance(g, 80) ? apply1(g, bends[below(g, 4)], z)
		                  : apply2(g, OP_MAX, z, konst(g, type_id_at(g, z.ref), 0));
		x.mag = chance(g, 80) ? 1.6 : z.mag;
	}
	put(g, x);
	if (chance(g, 60)) {
		int axis = (int)below(g, 2);
		put(g, reduced(g, OP_REDUCE_SUM, tame(g, apply2(g, OP_MUL, x, x), 50), 1, &axis));
	}
	return true;
}

/* a x[i-1] + b x[i] + c x[i+1], from slices of one array; sometimes padded with
 * zeros, or periodic. */
static bool step_stencil(Gen *g) {
	V x = tame(g, choose(g, KIND_R, 1, 2), 100);
	Type t = type_at(g, x.ref);
	int axis = (int)below(g, t.rank);
	Dim d = t.dims[axis], inner = plus(g, d, -2);
	if (least(g, d) < 3) return false;
	V y = {REF_NONE, 0};
	if (chance(g, 30)) { /* periodic */
		V last = sliced(g, x, axis, plus(g, d, -1), dim_const(g->c, 1), 1),
		  first = sliced(g, x, axis, dim_const(g->c, 0), dim_const(g->c, 1), 1);
		Ref parts[3] = {last.ref, x.ref, first.ref};
		x = (V){build_concat(g->b, 3, parts, axis), x.mag};
		d = plus(g, d, 2);
		inner = plus(g, d, -2);
	}
	for (int k = 0; k < 3; k++) {
		double by = k == 1 ? -2.0 : between(g, 0.5, 1.5);
		V part = times(g, sliced(g, x, axis, dim_const(g->c, k), inner, 1), by);
		y = k ? apply2(g, OP_ADD, y, part) : part;
	}
	if (chance(g, 40)) { /* an upwind product */
		V mid = sliced(g, x, axis, dim_const(g->c, 1), inner, 1);
		y = product(g, y, mid, 20);
	}
	if (chance(g, 50)) {
		Dim low[MAX_RANK], length[MAX_RANK];
		for (int k = 0; k < t.rank; k++) {
			low[k] = dim_const(g->c, k == axis);
			length[k] = k == axis ? plus(g, inner, 2) : t.dims[k];
		}
		y = (V){build_pad(g->b, y.ref, low, length, NULL), y.mag};
	}
	put(g, tame(g, y, 50));
	return true;
}

/* Steps of an explicit integrator: a loop with element-wise work on one array
 * and a stencil. A short vector becomes the lanes of one machine vector. */
static bool step_integrator(Gen *g) {
	if (g->depth > 1 || g->turns > 60) return false;
	V x = tame(g, choose(g, KIND_R, 0, 2), 2);
	const Dim few = small_dim(g, 4, 2 * DIM_SMALL + 3);
	if (chance(g, 50) && !g->plan->small) x = fit(g, x, 1, &few);
	TypeId t = type_id_at(g, x.ref);
	Type ty = *type_of(g->c, t);
	TypeId types[2] = {type_scalar(g->c, DT_I64), t};
	Ref params[2], out;
	V a = fit_type(g, tame(g, choose(g, KIND_R, 0, 1), 1), t);
	OpenRegion *r = build_region_begin(g->b, 2, types, params);
	Scope s = scope_open(g, 8);
	V y = {params[1], 4};
	V f = apply2(g, OP_MUL, apply1(g, OP_SIN, y), a);
	f.mag = 4;
	Dim d = ty.rank ? ty.dims[ty.rank - 1] : 0;
	if (ty.rank && least(g, d) >= 3 && chance(g, 60)) {
		int axis = ty.rank - 1;
		Dim inner = plus(g, d, -2), low[MAX_RANK];
		V left = sliced(g, y, axis, dim_const(g->c, 0), inner, 1),
		  right = sliced(g, y, axis, dim_const(g->c, 2), inner, 1);
		for (int k = 0; k < ty.rank; k++) low[k] = dim_const(g->c, k == axis);
		V slope = apply2(g, OP_SUB, right, left);
		slope = (V){build_pad(g->b, slope.ref, low, ty.dims, NULL), 8};
		f = apply2(g, OP_ADD, f, times(g, slope, 0.25));
	}
	y = times(g, y, 0.9);
	y = apply2(g, OP_ADD, y, times(g, f, 0.05));
	if (chance(g, 30)) y = tame(g, y, 4);
	out = y.ref;
	scope_close(g, s);
	RegionId body = build_region_end(g->b, r, 1, &out);
	build_for(g->b, build_i64(g->b, 1 + below(g, 8)), 1, &x.ref, body, &out);
	put(g, (V){out, 4});
	return true;
}

/* A recurrence written as a loop: y[i] = f(x[i], y[i-1]). */
static bool step_recurrence(Gen *g) {
	if (g->depth || g->turns > 1) return false;
	V x;
	if (!choose_if(g, KIND_R, 1, 2, &x)) return false;
	Type t = type_at(g, x.ref);
	Dim d = t.dims[0];
	if (least(g, d) < 2 || most(g, d) > 200) return false;
	x = tame(g, x, 4);
	TypeId all = type_id_at(g, x.ref),
		   row = type_tensor(g->c, (Dtype)t.dtype, t.rank - 1u, t.dims + 1);
	TypeId types[3] = {type_scalar(g->c, DT_I64), all, row};
	Ref params[3], out[2], init[2] = {build_zeros(g->b, all)};
	init[1] = build_full(g->b, row, 0.5);
	OpenRegion *r = build_region_begin(g->b, 3, types, params);
	V here = {build_gather(g->b, x.ref, params[0], 0, 0), 4}, before = {params[2], 8};
	V y = times(g, before, 0.5);
	y = apply2(g, OP_ADD, y,
	           chance(g, 50) ? here : apply1(g, OP_SIN, apply2(g, OP_MUL, here, before)));
	out[0] = build_scatter(g->b, OP_SCATTER_SET, params[1], params[0], y.ref, 0, 0);
	out[1] = y.ref;
	RegionId body = build_region_end(g->b, r, 2, out);
	build_for(g->b, build_extent(g->b, d), 2, init, body, out);
	put(g, (V){out[0], 9});
	put(g, (V){out[1], 9});
	return true;
}

/* Pairs of rows: distances, a kernel matrix. */
static bool step_pairs(Gen *g) {
	Dim n, m;
	V x = tame(g, rows(g, &n, &m), 4);
	Dim dims[3] = {n, n, m};
	if (!affordable(g, 3, dims)) return false;
	V a = {build_broadcast(g->b, x.ref, 3, dims, (int[]){0, 2}), x.mag},
	  b = {build_broadcast(g->b, x.ref, 3, dims, (int[]){1, 2}), x.mag};
	V d = apply2(g, OP_SUB, a, b);
	V q = reduced(g, OP_REDUCE_SUM, apply2(g, OP_MUL, d, d), 1, (int[]){2});
	V k = apply1(g, OP_EXP, times(g, q, -0.5));
	k.mag = 1;
	put(g, k);
	if (chance(g, 50)) put(g, (V){build_matmul(g->b, k.ref, x.ref), (double)most(g, n) * x.mag});
	return true;
}

/* A small matrix product in each row: [n, i, j] by [n, j, k], or by a shared
 * [j, k]. */
static bool step_row_products(Gen *g) {
	Dtype d = g->real;
	Dim n = symbol_dim(g), left[3] = {n, small_dim(g, 2, 4)}, right[3] = {n};
	left[2] = right[1] = small_dim(g, 2, 5);
	right[2] = small_dim(g, 2, 4);
	if (!affordable(g, 3, left) || !affordable(g, 3, right)) return false;
	bool shared = chance(g, 40);
	V x = tame(g, fit(g, as_dtype(g, choose(g, KIND_R, 1, 3), d), 3, left), 4);
	V y = tame(
		g,
		fit(g, as_dtype(g, choose(g, KIND_R, 1, 3), d), shared ? 2 : 3, shared ? right + 1 : right),
		4);
	if (chance(g, 60)) { /* makes the rows of a broadcast operand differ */
		V i = {build_iota(g->b, d, left[2]), 5};
		x = apply2(g, OP_ADD, x,
		           (V){build_broadcast(g->b, apply1(g, OP_COS, i).ref, 3, left, (int[]){2}), 1});
	}
	Ref z = shared ? build_dot(g->b, x.ref, y.ref, 1, (int[]){2}, (int[]){0}, 0, NULL, NULL)
	               : build_dot(g->b, x.ref, y.ref, 1, (int[]){2}, (int[]){1}, 1, (int[]){0},
	                           (int[]){0});
	put(g, tame(g, (V){z, 5 * 5 * 4 * 4}, 20));
	return true;
}

/* x @ W for wide operands, which use a library's matrix product. */
static bool step_matmul(Gen *g) {
	V x = choose(g, KIND_R, 1, 2), z;
	Type t = type_at(g, x.ref);
	Dim shape[2] = {t.dims[t.rank - 1], any_dim(g)}, out[2] = {t.dims[0], shape[1]};
	if (!affordable(g, 2, shape) || !affordable(g, t.rank, t.rank == 2 ? out : out + 1))
		return false;
	V w = fit(g, as_dtype(g, choose(g, KIND_R, 1, 2), (Dtype)t.dtype), 2, shape);
	z = (V){build_matmul(g->b, x.ref, w.ref), x.mag * w.mag * (double)most(g, shape[0])};
	put(g, tame(g, z, 50));
	return true;
}

/* Segment sum: an index for each row selects the target of its contribution. */
static bool step_segments(Gen *g) {
	V x;
	if (!choose_if(g, KIND_R, 1, 2, &x)) return false;
	Type t = type_at(g, x.ref);
	Dim dims[MAX_RANK] = {small_dim(g, 2, 7)};
	for (uint32_t k = 1; k < t.rank; k++) dims[k] = t.dims[k];
	V i = index_into(g, dims[0], 1, &t.dims[0]);
	Ref zero = build_zeros(g->b, type_tensor(g->c, (Dtype)t.dtype, t.rank, dims));
	V sum = {build_scatter(g->b, OP_SCATTER_ADD, zero, i.ref, x.ref, 0, 0),
	         x.mag * (double)most(g, t.dims[0])};
	put(g, sum);
	if (chance(g, 50)) put(g, (V){build_gather(g->b, sum.ref, i.ref, 0, 0), sum.mag});
	return true;
}

/*                                         mixed rows loops arrays layers */
const StepKind pattern_steps[] = {
	{"chain", step_chain, {10, 20, 8, 4, 8}},
	{"row_local", step_row_local, {5, 16, 3, 3, 8}},
	{"softmax", step_softmax, {2, 4, 1, 1, 6}},
	{"normalise", step_normalise, {2, 4, 1, 1, 5}},
	{"layer", step_layer, {4, 6, 2, 1, 24}},
	{"stencil", step_stencil, {4, 3, 5, 6, 1}},
	{"integrator", step_integrator, {5, 2, 14, 2, 2}},
	{"recurrence", step_recurrence, {2, 1, 5, 1, 1}},
	{"pairs", step_pairs, {1, 2, 1, 2, 1}},
	{"row_products", step_row_products, {3, 5, 2, 3, 6}},
	{"matmul", step_matmul, {3, 2, 2, 3, 6}},
	{"segments", step_segments, {2, 2, 2, 3, 2}},
	{NULL, NULL, {0}},
};
