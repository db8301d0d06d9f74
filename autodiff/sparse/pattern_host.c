/* pattern_host.c - host functions for sparse derivatives: "sparsity", the
 * pattern with its cache, and "tree_sums", recovery by substitution.
 *
 *  functions  f, of the values that it captures and its arguments
 *  operands   the arguments of f: of the one to differentiate with respect to
 *             only the shape is used, of the others only the type
 *  options    which argument; symmetric (1: a Hessian, f is a gradient; 2: the
 *             same, without substitution)
 *  results    i64 each; n elements in the argument, m in the result
 *    rows[nnz], columns[nnz]     of each element, column-major, ascending
 *    column_start[n + 1], row_start[m + 1]
 *    place[nnz]                  index in the concatenated products below,
 *                                followed by the sums
 *    colour[n], group_sizes[p]   products with the sums of the columns of one
 *                                colour; -1 if all elements come from rows
 *    heavy[r], heavy_colour[r], heavy_sizes[q]
 *                                rows recovered from the transpose, likewise
 *    term[s], part_of[s]         sums, as in colouring.h
 *    most_terms[1]
 *    f64[0]                      an inexact result, so that a request for a
 *                                derivative is seen and can be refused
 *
 * Needs: pattern.h, colouring.h.
 *
 * Contract:
 * - Results depend on f, on the extents and on those captured values that
 *   determine the pattern. A cache returns recent results when all of these are
 *   equal.
 * - The pattern has no derivative, since it consists of integers.
 * - A tangent of a captured array whose zeros determine the pattern is an
 *   error: the derivative of an omitted element would be lost.
 */
#include "autodiff/sparse/colouring.h"
#include "autodiff/sparse/pattern.h"

enum { RESULTS = 13, ALL_RESULTS, KEPT = 16 };

typedef struct CachedPattern {
	uint64_t used; /* 0: free */
	FnId program;  /* an id, since the function may have been freed */
	int64_t symmetric;
	uint32_t nparams;
	int64_t *shapes; /* rank and extents of each parameter */
	Value *values;   /* V_UNSET: does not matter */
	Value results[RESULTS];
} CachedPattern;

typedef struct PatternCache {
	IndexSets *in_use;
	uint64_t clock;
	CachedPattern kept[KEPT];
} PatternCache;

/* ---- cache of results ---------------------------------------------------- */

static void shape_of(Value v, int64_t *out) {
	const bool tensor = v.kind == V_TENSOR;
	out[0] = tensor ? v.tensor->rank : 0;
	for (uint32_t a = 0; a < MAX_RANK; a++)
		out[a + 1] = tensor && a < v.tensor->rank ? v.tensor->shape[a] : 0;
}

static void forget(Ctx *c, CachedPattern *k) {
	for (uint32_t i = 0; k->values && i < k->nparams; i++) value_unref(k->values[i]);
	for (uint32_t i = 0; k->used && i < RESULTS; i++) value_unref(k->results[i]);
	if (k->shapes) heap_free(c, k->shapes, (k->nparams + 1u) * (MAX_RANK + 1) * sizeof *k->shapes);
	if (k->values) heap_free(c, k->values, (k->nparams + 1u) * sizeof *k->values);
	*k = (CachedPattern){0};
}

static void forget_all(Ctx *c, void *state) {
	PatternCache *s = state;
	for (uint32_t i = 0; i < KEPT; i++) forget(c, &s->kept[i]);
}

static bool same(const CachedPattern *k, const Fn *program, int64_t symmetric, uint32_t n,
                 const Value *args) {
	if (!k->used || k->program != program->id || k->symmetric != symmetric || k->nparams != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int64_t shape[MAX_RANK + 1];
		shape_of(args[i], shape);
		if (memcmp(shape, k->shapes + i * (MAX_RANK + 1), sizeof shape)) return false;
		const Value v = k->values[i];
		if (v.kind == V_UNSET ||
		    (v.kind == V_TENSOR && args[i].kind == V_TENSOR && v.tensor == args[i].tensor))
			continue;
		if (!value_identical(v, args[i])) return false;
	}
	return true;
}

/* Caches the results. Stores the values of only those parameters that the
 * program reads. */
static Status keep(Ctx *c, PatternCache *s, Fn *program, int64_t symmetric, uint32_t n,
                   const Value *args, const Value *results) {
	CachedPattern *k = &s->kept[0];
	for (uint32_t i = 1; i < KEPT; i++)
		if (s->kept[i].used < k->used) k = &s->kept[i];
	forget(c, k);
	const size_t room = (program->vals.n + 1u) * sizeof(uint32_t);
	uint32_t *uses = heap_alloc(c, room);
	k->nparams = n;
	k->shapes = heap_alloc(c, (n + 1u) * (MAX_RANK + 1) * sizeof *k->shapes);
	k->values = heap_alloc(c, (n + 1u) * sizeof *k->values);
	if (!uses || !k->shapes || !k->values) {
		if (uses) heap_free(c, uses, room);
		k->nparams = 0;
		if (k->values) heap_free(c, k->values, (n + 1u) * sizeof *k->values);
		if (k->shapes) heap_free(c, k->shapes, (n + 1u) * (MAX_RANK + 1) * sizeof *k->shapes);
		*k = (CachedPattern){0};
		return ST_NOMEM;
	}
	fn_count_uses(program, uses);
	for (uint32_t i = 0; i < n; i++) {
		shape_of(args[i], k->shapes + i * (MAX_RANK + 1));
		k->values[i] = uses[REF_INDEX(fn_param(program, i))] ? value_ref(args[i]) : (Value){0};
	}
	heap_free(c, uses, room);
	for (uint32_t i = 0; i < RESULTS; i++) k->results[i] = value_ref(results[i]);
	k->program = program->id;
	k->symmetric = symmetric;
	k->used = ++s->clock;
	return ST_OK;
}

/* ---- the pattern --------------------------------------------------------- */

static Status pattern_of(Ctx *c, const IndexSets *s, const Tensor *t, int64_t n, RowPattern *p) {
	const int32_t *set = (const int32_t *)(const void *)t->data;
	int64_t nnz = 0;
	for (int64_t i = 0; i < t->count; i++) nnz += index_sets_view(s, set[i]).count;
	*p = (RowPattern){.m = t->count,
	                  .n = n,
	                  .start_bytes = (size_t)(t->count + 1) * sizeof *p->start,
	                  .column_bytes = (size_t)(nnz + 1) * sizeof *p->column};
	p->start = heap_alloc(c, p->start_bytes);
	p->column = heap_alloc(c, p->column_bytes);
	if (!p->start || !p->column) {
		row_pattern_free(c, p);
		return ST_NOMEM;
	}
	nnz = 0;
	for (int64_t i = 0; i < t->count; i++) {
		const SetView v = index_sets_view(s, set[i]);
		p->start[i] = nnz;
		for (int32_t k = 0; k < v.count; k++) p->column[nnz++] = set_member(v, k);
	}
	p->start[t->count] = nnz;
	return ST_OK;
}

static int64_t *vector(Ctx *c, int64_t n, Value *out) {
	Tensor *t = tensor_zeros(c, DT_I64, 1, &n);
	if (!t) return NULL;
	*out = value_tensor(t);
	return (int64_t *)(void *)t->data;
}

static Status give(Ctx *c, const RowPattern *p, const RowPattern *t, const Colouring *k,
                   Value *out) {
	int64_t heavy = 0, r = 0;
	const int64_t nnz = p->start[p->m];
	for (int64_t i = 0; i < p->m; i++) heavy += k->row[i] >= 0;
	const int64_t lengths[RESULTS] = {nnz,   nnz,   p->n + 1, p->m + 1, nnz,      p->n, k->p,
	                                  heavy, heavy, k->q,     k->nsums, k->nsums, 1};
	int64_t *v[RESULTS];
	for (uint32_t i = 0; i < RESULTS; i++)
		if (!(v[i] = vector(c, lengths[i], &out[i]))) return ST_NOMEM;
	for (int64_t j = 0; j < p->n; j++) {
		for (int64_t e = t->start[j]; e < t->start[j + 1]; e++) {
			v[0][e] = t->column[e];
			v[1][e] = j;
			v[4][e] = k->place[e];
		}
		v[5][j] = k->column[j];
		if (k->column[j] >= 0) v[6][k->column[j]]++;
	}
	memcpy(v[2], t->start, (size_t)(p->n + 1) * sizeof **v);
	memcpy(v[3], p->start, (size_t)(p->m + 1) * sizeof **v);
	for (int64_t i = 0; i < p->m; i++) {
		if (k->row[i] < 0) continue;
		v[7][r] = i;
		v[8][r++] = k->row[i];
		v[9][k->row[i]]++;
	}
	for (int64_t i = 0; i < k->nsums; i++) v[10][i] = k->term[i];
	for (int64_t i = 0; i < k->nsums; i++) v[11][i] = k->part_of[i];
	v[12][0] = k->most_terms;
	return ST_OK;
}

static Status colour(Ctx *c, const IndexSets *s, const Tensor *sets, int64_t n, int64_t symmetric,
                     Value *results) {
	RowPattern p, t = {0}, whole;
	Colouring k = {0};
	Status st = pattern_of(c, s, sets, n, &p);
	if (st != ST_OK) return st;
	if (symmetric && p.m == p.n) {
		whole = p;
		st = row_pattern_symmetric(c, &whole, &p);
		row_pattern_free(c, &whole);
	}
	if (st == ST_OK) st = row_pattern_transposed(c, &p, &t);
	if (st == ST_OK)
		st = symmetric && p.m == p.n
		         ? colour_symmetric(c, &p, symmetric == 2 ? RECOVERY_DIRECT : RECOVERY_ANY, &k)
		         : colour_general(c, &p, &t, &k);
	if (st == ST_OK) {
		st = give(c, &p, &t, &k, results);
		colouring_free(c, &k);
	}
	row_pattern_free(c, &p);
	row_pattern_free(c, &t);
	return st;
}

/* ---- the host function --------------------------------------------------- */

typedef struct PatternRequest {
	const HostCall *call;
	Fn *program;
} PatternRequest;

static uint32_t captured_by(const HostCall *call) { return (uint32_t)call->options[1]; }

static void make_program(Ctx *c, void *arg) {
	PatternRequest *a = arg;
	Fn *f = a->call->fns[0];
	Arena *scratch = arena_new(c);
	const uint32_t which = captured_by(a->call) + (uint32_t)a->call->options[2];
	bool *mask = ARENA_ARRAY(scratch, bool, fn_nparams(f) + 1u);
	mask[which] = true;
	a->program = ad_sparsity(c, f, mask, captured_by(a->call));
	arena_free(scratch);
}

/* A placeholder for the argument: zeros, of its shape and of f's dtype. */
static Value blank(Ctx *c, Value v, Dtype d) {
	int64_t shape[MAX_RANK + 1], none[MAX_RANK] = {0};
	shape_of(v, shape);
	Tensor *one = tensor_zeros(c, d, 0, none),
		   *t = one ? tensor_view(c, one, (uint32_t)shape[0], shape + 1, none, 0) : NULL;
	tensor_unref(one);
	return t ? value_from_tensor(t) : (Value){0};
}

Status sparsity_run(Ctx *c, Fn *program, int64_t ninputs, const Value *args, Value *results,
                    IndexSets **sets) {
	PatternCache *s = ctx_slot(c, SLOT_SPARSITY);
	IndexSets *before = s->in_use;
	if (!(*sets = index_sets_new(c, ninputs))) return ST_NOMEM;
	s->in_use = *sets;
	const Status st = ir_services(c)->run(c, program, args, results);
	s->in_use = before;
	if (st == ST_OK) return ST_OK;
	index_sets_free(*sets);
	*sets = NULL;
	return st;
}

static Status run_program(Ctx *c, const PatternRequest *a, int64_t n, const Value *args,
                          Value *results) {
	Value numbers = {0};
	IndexSets *sets;
	Status st = sparsity_run(c, a->program, n, args, &numbers, &sets);
	if (st != ST_OK) return st;
	Tensor *t = value_to_tensor(c, numbers), *flat = t ? tensor_contiguous(c, t) : NULL;
	st = flat ? colour(c, sets, flat, n, a->call->options[3], results) : ST_NOMEM;
	tensor_unref(flat);
	tensor_unref(t);
	value_unref(numbers);
	index_sets_free(sets);
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	PatternCache *s = call->def->ud;
	PatternRequest a = {.call = call};
	const uint32_t mark = build_mark(c);
	Status st = ctx_protect(c, make_program, &a);
	if (st != ST_OK) {
		build_unwind(c, mark);
		return st;
	}
	const uint32_t ncaptured = captured_by(call), nops = nargs - ncaptured,
				   which = (uint32_t)call->options[2];
	Value *all = heap_alloc(c, (nargs + 1u) * sizeof *all); /* captured, then arguments */
	if (!all) return ST_NOMEM;
	memcpy(all, args + nops, ncaptured * sizeof *all);
	memcpy(all + ncaptured, args, nops * sizeof *all);
	Value *x = &all[ncaptured + which];
	int64_t shape[MAX_RANK + 1], n = 1;
	shape_of(*x, shape);
	for (int64_t k = 0; k < shape[0]; k++) n *= shape[k + 1];
	*x =
		blank(c, *x, (Dtype)ref_ty(call->fns[0], fn_param(call->fns[0], ncaptured + which))->dtype);
	const int64_t symmetric = call->options[3];
	CachedPattern *found = NULL;
	for (uint32_t k = 0; k < KEPT && !found; k++)
		if (same(&s->kept[k], a.program, symmetric, nargs, all)) found = &s->kept[k];
	if (x->kind == V_UNSET) st = ST_NOMEM;
	else if (found) {
		found->used = ++s->clock;
		for (uint32_t k = 0; k < RESULTS; k++) results[k] = value_ref(found->results[k]);
	} else {
		for (uint32_t k = 0; k < RESULTS; k++) results[k] = (Value){0};
		st = run_program(c, &a, n, all, results);
		if (st == ST_OK) st = keep(c, s, a.program, symmetric, nargs, all, results);
		for (uint32_t k = 0; st != ST_OK && k < RESULTS; k++) value_unref(results[k]);
	}
	const int64_t none = 0;
	Tensor *last = st == ST_OK ? tensor_new(c, DT_F64, 1, &none) : NULL;
	if (last) results[RESULTS] = value_tensor(last);
	else if (st == ST_OK) {
		for (uint32_t k = 0; k < RESULTS; k++) value_unref(results[k]);
		st = ST_NOMEM;
	}
	for (uint32_t k = 0; st != ST_OK && k < nresults; k++) results[k] = (Value){0};
	value_unref(*x);
	heap_free(c, all, (nargs + 1u) * sizeof *all);
	return st;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const Fn *f = call->fns[0];
	const SpanId at = build_span(b);
	const uint32_t ncaptured = captured_by(call), which = (uint32_t)call->options[2];
	(void)cap;
	const Type *x = ref_ty(f, fn_param(f, ncaptured + which));
	if (nargs <= which || fn_nresults(f) != 1 ||
	    !type_has_tangent(c, ref_type(f, fn_result(f, 0))) || x->kind != TY_TENSOR ||
	    !dtype_is_real((Dtype)x->dtype)) {
		diag_error(c, E_GRAD_ARG, span_of(c, at),
		           "a sparse derivative is of a function of a real array that gives a real or "
		           "complex array");
		ctx_throw(c, ST_ERROR);
	}
	const Type t = *ref_ty(build_fn(b), args[which]);
	Dim n = dim_const(c, 1), one = n;
	for (uint32_t k = 0; k < t.rank; k++) n = dim_mul(c, n, t.dims[k]);
	const Dim nnz = build_fresh_dim(b, atom(c, "nnz"), at), heavy = build_fresh_dim(b, 0, at);
	const Dim sums = build_fresh_dim(b, 0, at);
	const Dim lengths[RESULTS] = {nnz,
	                              nnz,
	                              dim_add(c, n, one),
	                              build_fresh_dim(b, 0, at),
	                              nnz,
	                              n,
	                              build_fresh_dim(b, atom(c, "colours"), at),
	                              heavy,
	                              heavy,
	                              build_fresh_dim(b, 0, at),
	                              sums,
	                              sums,
	                              one};
	for (uint32_t k = 0; k < RESULTS; k++) out[k] = type_tensor(c, DT_I64, 1, &lengths[k]);
	const Dim none = dim_const(c, 0);
	out[RESULTS] = type_tensor(c, DT_F64, 1, &none);
	return ALL_RESULTS;
}

/* The pattern itself has no derivative. Tangents of captured values are allowed
 * as long as no zero of theirs determines the pattern. */
static void no_tangent(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                       const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)args, (void)results, (void)result_tangents;
	Ctx *c = build_ctx(b);
	PatternRequest a = {.call = call};
	make_program(c, &a);
	const uint32_t ncaptured = captured_by(call), nops = nargs - ncaptured;
	uint32_t *uses = ARENA_ARRAY(build_fn(b)->arena, uint32_t, a.program->vals.n + 1u);
	fn_count_uses(a.program, uses);
	for (uint32_t k = 0; k < ncaptured; k++) {
		if (tangents[nops + k] == REF_NONE || !uses[REF_INDEX(fn_param(a.program, k))] ||
		    !ref_ty(a.program, fn_param(a.program, k))->rank)
			continue;
		diag_error(c, E_NO_RULE, span_of(c, build_span(b)),
		           "a sparse derivative has no derivative with respect to an array whose zeros "
		           "decide its pattern");
		ctx_throw(c, ST_ERROR);
	}
}

/* ---- recovery by substitution -------------------------------------------- */

/* x -> y, y[i] = x[i] minus the y[k] with part_of[k] == i, and its transpose,
 * for integers part_of[k] > k: one subtraction for each. */
#define SUBTRACT(T, at)                                                                            \
	do {                                                                                           \
		T *y = (T *)(void *)(at);                                                                  \
		for (int64_t k = transposed ? n - 1 : 0; k >= 0 && k < n; k += transposed ? -1 : 1) {      \
			if (part_of[k] >= n) continue;                                                         \
			for (int64_t w = 0; w < width; w++)                                                    \
				y[(transposed ? k : part_of[k]) * width + w] -=                                    \
					y[(transposed ? part_of[k] : k) * width + w];                                  \
		}                                                                                          \
	} while (0)

static Status sums_check(Ctx *c, int64_t n, const int64_t *part_of) {
	for (int64_t k = 0; k < n; k++) {
		if (part_of[k] > k) continue;
		diag_error(
			c, E_VALUE, NO_SPAN,
			"the pattern of a sparse derivative: a sum must come before the one it is part of");
		return ST_ERROR;
	}
	return ST_OK;
}

static Status sums_direct(Ctx *c, const HostCall *call, const HostArray *args,
                          const HostArray *results) {
	const bool transposed = call->options[1];
	const int64_t n = args[1].count, width = 1, *part_of = args[1].data;
	const Status st = sums_check(c, n, part_of);
	if (st != ST_OK) return st;
	memcpy(results[0].data, args[0].data, (size_t)n * sizeof(double));
	SUBTRACT(double, results[0].data);
	return ST_OK;
}

static Status sums_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	Tensor *given = tensor_contiguous(c, args[1].tensor),
		   *out = given ? tensor_copy(c, args[0].tensor) : NULL;
	Status st = out ? ST_OK : ST_NOMEM;
	const bool transposed = call->options[1];
	const int64_t n = st == ST_OK ? given->count : 0,
				  *part_of = st == ST_OK ? (const int64_t *)(const void *)given->data : NULL;
	if (st == ST_OK) st = sums_check(c, n, part_of);
	if (st == ST_OK) {
		const Dtype d = (Dtype)out->dtype;
		const int64_t width = dtype_is_real(d) ? 1 : 2;
		if (dtype_real_of(d) == DT_F32) SUBTRACT(float, out->data);
		else SUBTRACT(double, out->data);
		results[0] = value_tensor(out);
	} else {
		tensor_unref(out);
	}
	tensor_unref(given);
	return st;
}

static uint32_t sums_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	Ctx *c = build_ctx(b);
	const Fn *f = build_fn(b);
	(void)call, (void)cap;
	const Type *x = nargs == 2 ? ref_ty(f, args[0]) : NULL,
			   *part_of = nargs == 2 ? ref_ty(f, args[1]) : NULL;
	if (!x || x->kind != TY_TENSOR || x->rank != 1 || !dtype_is_inexact((Dtype)x->dtype) ||
	    part_of->rank != 1 || part_of->dtype != DT_I64) {
		diag_error(c, E_TYPE, span_of(c, build_span(b)),
		           "sums along trees are of a vector, by a vector of i64");
		ctx_throw(c, ST_ERROR);
	}
	out[0] = ref_type(f, args[0]);
	if (build_unify(b, x->dims[0], part_of->dims[0], atom(c, "the sums of a sparse derivative")))
		return 1;
	diag_error(c, E_SHAPE, span_of(c, build_span(b)),
	           "sums along trees need as many numbers of trees as terms");
	ctx_throw(c, ST_ERROR);
}

static Ref sums(Builder *b, Ref x, Ref part_of, bool transposed) {
	Ctx *c = build_ctx(b);
	Ref y;
	build_host(
		b, host_call_intern(c, host_find(c, "tree_sums"), 0, NULL, 2, (int64_t[]){0, transposed}),
		2, (Ref[]){x, part_of}, &y, 1);
	return y;
}

static void sums_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                     const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)nargs, (void)results;
	if (tangents[0] != REF_NONE)
		result_tangents[0] = sums(b, tangents[0], args[1], call->options[1]);
}

static void sums_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                           const bool *linear, const Ref *result_cotangents, Ref *cotangents) {
	(void)nargs;
	if (linear[0] && result_cotangents[0] != REF_NONE)
		cotangents[0] = sums(b, result_cotangents[0], args[1], !call->options[1]);
}

void sparsity_register(Ctx *c) {
	PatternCache *s = ARENA_NEW(ctx_arena(c), PatternCache);
	ctx_set_slot(c, SLOT_SPARSITY, s, forget_all);
	index_sets_register(c, &s->in_use);
	host_register(
		c,
		&(HostDef){.name = "sparsity", .ud = s, .types = types, .eval = eval, .jvp = no_tangent});
	host_register(c, &(HostDef){.name = "tree_sums",
	                            .types = sums_types,
	                            .eval = sums_eval,
	                            .direct = sums_direct,
	                            .jvp = sums_jvp,
	                            .transpose = sums_transpose});
}
