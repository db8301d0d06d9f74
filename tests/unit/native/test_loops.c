/* test_loops.c - unit tests of compiled loops over arrays.
 *
 * Oracle: the evaluator, for several extents. Each IR program is compiled once
 * as a single unit, with the first extents as hints. It must be right for all
 * extents, and bit-identical for one and several threads. The test is skipped
 * without a code generator.
 *
 * Usage: `test_loops FILE.ir [N...]` runs one program and prints its plan,
 * kernel code and time.
 *
 * Needs: help.h, backend/native.
 */
#include "backend/native/jit/compile_service.h"
#include "backend/native/lower/context.h"
#include "backend/native/run/runtime.h"
#include "backend/native/kir/cpu.h"
#include "tests/unit/eval/help.h"
#include "lang/base/parallel.h"
#include <time.h>

typedef struct Program {
	const char *name, *text;
	int64_t lengths[3][4]; /* three sets of extents for symbols 0.. */
	double lo, hi;         /* range of the inputs */
} Program;

typedef struct Native {
	Arena *arena;
	Unit *unit;
	NativeService *service;
	NativeCode *code;
} Native;

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- building ------------------------------------------------------------ */

typedef struct Make {
	const Fn *f;
	Native *n;
	const int64_t *hints;
	KTarget target;
} Make;

static void make_unit(Ctx *c, void *ud) {
	Make *m = ud;
	const Region *body = &m->f->regions.at[0];
	m->n->unit = lower_unit(c, m->f, body->ninsts, m->f->inst_order.at + body->insts, &m->target,
	                        m->hints, m->n->arena, false);
}

static bool native_make(T *t, Native *n, Fn *f, const int64_t *hints, bool verbose) {
	*n = (Native){.arena = arena_new(t->c), .service = native_service_new(t->c, NULL)};
	Make m = {.f = f, .n = n, .hints = hints};
	m.target = *native_target();
	if (ctx_protect(t->c, make_unit, &m) != ST_OK || !n->unit) return false;
	Text why;
	text_init(&why, t->c);
	if (verbose) {
		kmodule_print(&why, n->unit->module);
		printf("%.*s\n", (int)why.n, why.at);
		text_free(&why);
		text_init(&why, t->c);
	}
	bool good = kmodule_verify(n->unit->module, &why);
	if (!good) printf("kernel code: %.*s\n", (int)why.n, why.at);
	text_free(&why);
	char text[256] = "";
	NativeOptions o = {.name = "test",
	                   .level = getenv("ATLED_LEVEL") ? atoi(getenv("ATLED_LEVEL")) : 2};
	if (good) n->code = native_compile(n->service, n->unit->module, &o, text, sizeof text);
	if (good && !n->code) printf("not compiled: %s\n", text);
	return n->code != NULL;
}

static void native_drop(Native *n) {
	native_code_free(n->code);
	if (n->unit) kmodule_free(n->unit->module);
	native_service_free(n->service);
	arena_free(n->arena);
}

/* ---- running ------------------------------------------------------------- */

static int64_t word_of(Value v) {
	int64_t w = 0;
	switch (v.dtype) {
	case DT_BOOL: return v.b;
	case DT_I32: return v.i32;
	case DT_F32: memcpy(&w, &v.f32, 4); return w;
	default: memcpy(&w, &v.i, 8); return w;
	}
}

static Value value_of(Dtype d, int64_t w) {
	Value v = {.kind = V_SCALAR, .dtype = d};
	switch (d) {
	case DT_BOOL: v.b = w != 0; break;
	case DT_I32: v.i32 = (int32_t)w; break;
	case DT_F32: memcpy(&v.f32, &w, 4); break;
	default: memcpy(&v.i, &w, 8);
	}
	return v;
}

static Status native_go(T *t, const Native *n, const Fn *f, const Value *args, const int64_t *syms,
                        Value *results, NativeCall *call) {
	const Unit *u = n->unit;
	void *buffers[64];
	int64_t words[256], scalars[64];
	Value out[64];
	for (uint32_t i = 0; i < u->ninputs; i++) {
		const Const *k = ref_constant(f, u->inputs[i].ref);
		Value v = k ? k->value : args[REF_INDEX(u->inputs[i].ref) - REF_INDEX(fn_param(f, 0))];
		buffers[i] = v.tensor->data;
	}
	for (uint32_t i = 0; i < u->nwords; i++)
		words[i] = word_of(args[REF_INDEX(u->words[i]) - REF_INDEX(fn_param(f, 0))]);
	for (uint32_t i = 0; i < u->nsyms; i++) words[u->nwords + i] = syms[u->syms[i]];
	for (uint32_t i = 0; i < u->ndims; i++)
		dim_eval(t->c, u->dims[i], syms, f->syms.n, &words[u->nwords + u->nsyms + i]);
	for (uint32_t i = 0; i < u->noutputs; i++) {
		const Type *ty = ref_ty(f, u->outputs[i].ref);
		int64_t shape[MAX_RANK];
		for (uint32_t k = 0; k < ty->rank; k++)
			dim_eval(t->c, ty->dims[k], syms, f->syms.n, &shape[k]);
		out[i] = (Value){.kind = V_TENSOR,
		                 .tensor = tensor_new(t->c, (Dtype)ty->dtype, ty->rank, shape)};
		buffers[u->ninputs + i] = out[i].tensor->data;
	}
	buffers[u->ninputs + u->noutputs] = native_nowhere();
	*call = (NativeCall){.buffers = buffers, .words = words, .results = scalars};
	Status st = native_run(backend_of(t->c), native_code_entry(n->code), call);
	for (uint32_t k = 0; k < fn_nresults(f) && st == ST_OK; k++) {
		results[k] = (Value){.kind = V_UNSET};
		for (uint32_t i = 0; i < u->noutputs; i++)
			if (u->outputs[i].ref == fn_result(f, k)) results[k] = value_ref(out[i]);
		for (uint32_t i = 0; i < u->nresults; i++)
			if (u->results[i] == fn_result(f, k))
				results[k] = value_of((Dtype)ref_ty(f, u->results[i])->dtype, scalars[i]);
	}
	for (uint32_t i = 0; i < u->noutputs; i++) value_unref(out[i]);
	return st;
}

/* ---- comparison ---------------------------------------------------------- */

static double element(Value v, int64_t i) {
	double x = 0;
	if (v.kind == V_SCALAR) scalar_convert(v.dtype, &v.f, DT_F64, &x);
	else
		scalar_convert((Dtype)v.tensor->dtype,
		               v.tensor->data + i * (int64_t)dtype_size((Dtype)v.tensor->dtype), DT_F64,
		               &x);
	return x;
}

static int64_t count_of(Value v) { return v.kind == V_TENSOR ? v.tensor->count : 1; }

/* Returns the largest difference relative to the largest magnitude; infinity
 * where only one is NaN. */
static double difference(T *t, Value a, Value b) {
	Tensor *flat = a.kind == V_TENSOR ? tensor_contiguous(t->c, a.tensor) : NULL;
	if (flat) a.tensor = flat;
	double most = 0, scale = 1e-300;
	if (count_of(a) != count_of(b)) return INFINITY;
	for (int64_t i = 0; i < count_of(a); i++) {
		double x = element(a, i), y = element(b, i);
		if (isnan(x) != isnan(y)) most = INFINITY;
		if (isnan(x) || isnan(y)) continue;
		if (x != y && fabs(x - y) > most) most = fabs(x - y);
		if (isfinite(x) && fabs(x) > scale) scale = fabs(x);
	}
	tensor_unref(flat);
	return most == 0 ? 0 : most / scale;
}

static bool same_bits(Value a, Value b) {
	if (a.kind == V_SCALAR) return word_of(a) == word_of(b);
	return a.tensor->count == b.tensor->count &&
	       !memcmp(a.tensor->data, b.tensor->data,
	               (size_t)a.tensor->count * dtype_size((Dtype)a.tensor->dtype));
}

static Value random_arg(T *t, const Fn *f, uint32_t k, const int64_t *syms, const Program *p) {
	const Type ty = *ref_ty(f, fn_param(f, k));
	int64_t shape[MAX_RANK];
	for (uint32_t i = 0; i < ty.rank; i++) dim_eval(t->c, ty.dims[i], syms, f->syms.n, &shape[i]);
	Tensor *x = ev_tensor(t, (Dtype)ty.dtype, ty.rank, shape, p->lo, p->hi);
	return ty.rank ? (Value){.kind = V_TENSOR, .tensor = x} : value_from_tensor(x);
}

static Fn *read_program(T *t, const Program *p) {
	return fn_read(t->c, source_add(t->c, p->name, p->text, strlen(p->text)), NULL);
}

static void compare(T *t, const Program *p, Native *n, Fn *f, const int64_t *lengths) {
	Value args[64], want[64], got[64], again[64];
	uint32_t nargs = fn_nparams(f), nresults = fn_nresults(f);
	for (uint32_t k = 0; k < nargs; k++) args[k] = random_arg(t, f, k, lengths, p);
	NativeCall call;
	Status a = code_call(t->c, code_of(t->c, f), args, want),
		   b = native_go(t, n, f, args, lengths, got, &call);
	if (a != ST_OK || b != ST_OK) {
		CHECK_MSG((a != ST_OK) == (b != ST_OK),
		          "%s: evaluator %d, native %d (site %lld, %lld, %lld)", p->name, a, b,
		          (long long)call.site, (long long)call.fail_a, (long long)call.fail_b);
		if (a == ST_OK) ev_drop(want, nresults);
		if (b == ST_OK) ev_drop(got, nresults);
		diag_clear(t->c);
	} else {
		parallel_set_threads(t->c, 1);
		native_go(t, n, f, args, lengths, again, &call);
		parallel_set_threads(t->c, 0);
		for (uint32_t k = 0; k < nresults; k++) {
			bool narrow = value_dtype(want[k]) == DT_F32;
			double off = difference(t, want[k], got[k]);
			CHECK_MSG(off <= (narrow ? 2e-5 : 1e-12), "%s, result %u, lengths %lld %lld: off by %g",
			          p->name, k, (long long)lengths[0], (long long)lengths[1], off);
			CHECK_MSG(same_bits(got[k], again[k]), "%s, result %u: off by %g from one thread",
			          p->name, k, difference(t, got[k], again[k]));
		}
		ev_drop(want, nresults);
		ev_drop(got, nresults);
		ev_drop(again, nresults);
	}
	ev_drop(args, nargs);
}

/* ---- programs ------------------------------------------------------------ */

#define LENGTHS                                                                                    \
	{                                                                                              \
		{37, 20, 33}, {16384, 64, 17}, { 1, 17, 40 }                                               \
	}

static const Program programs[] = {
	{"element-wise",
     "fn @f[n](%0: f64, %1: f64[n]) -> (f64[n]) {\n"
     "  %2: f64[n] = broadcast %0 {shape: [n], axes: []}\n"
     "  %3: f64[n] = sin %1\n  %4: f64[n] = mul %2, %3\n  %5: f64[n] = mul %1, %1\n  %6: f64[n] = "
     "neg %5\n  %7: f64[n] = exp %6\n"
     "  %8: f64[n] = add %4, %7\n  return %8\n}\n",
     LENGTHS, -2, 2},
	{"sum of squares",
     "fn @f[n](%0: f64[n]) -> (f64) {\n  %1: f64[n] = mul %0, %0\n  %2: f64 = reduce_sum %1 {axes: "
     "[0]}\n  return %2\n}\n",
     LENGTHS, -2, 2},
	{"largest and f32",
     "fn @f[n](%0: f32[n]) -> (f32, f32[n]) {\n  %1: f32[n] = tanh %0\n  %2: f32 = reduce_sum %1 "
     "{axes: [0]}\n  return %2, %1\n}\n",
     LENGTHS, -2, 2},
	{"softmax",
     "fn @f[n, m](%0: f64[n, m]) -> (f64[n, m]) {\n  %1: f64[n] = reduce_max %0 {axes: [1]}\n"
     "  %2: f64[n, m] = broadcast %1 {shape: [n, m], axes: [0]}\n  %3: f64[n, m] = sub %0, %2\n  "
     "%4: f64[n, m] = exp %3\n"
     "  %5: f64[n] = reduce_sum %4 {axes: [1]}\n  %6: f64[n, m] = broadcast %5 {shape: [n, m], "
     "axes: [0]}\n  %7: f64[n, m] = div %4, %6\n"
     "  return %7\n}\n",
     {{37, 20}, {640, 500}, {1, 17}},
     -2,
     2},
	{"both sums",
     "fn @f[n, m](%0: f64[n, m]) -> (f64[n], f64[m], f64) {\n  %1: f64[n] = reduce_sum %0 {axes: "
     "[1]}\n  %2: f64[m] = reduce_sum %0 {axes: [0]}\n"
     "  %3: f64 = reduce_sum %0 {axes: [0, 1]}\n  return %1, %2, %3\n}\n",
     {{37, 20}, {640, 500}, {1, 17}},
     -2,
     2},
	{"transpose and outer",
     "fn @f[n, m](%0: f64[n, m], %1: f64[m], %2: f64[n]) -> (f64[m, n]) {\n  %3: f64[m, n] = "
     "transpose %0 {perm: [1, 0]}\n"
     "  %4: f64[m, n] = dot %1, %2 {lcontract: [], rcontract: [], lbatch: [], rbatch: []}\n  %5: "
     "f64[m, n] = add %3, %4\n  return %5\n}\n",
     {{37, 20}, {300, 500}, {20, 17}},
     -2,
     2},
	{"argmax and running sum",
     "fn @f[n, m](%0: f64[n, m], %1: f64[n]) -> (i64[n], f64[n, m], f64[n], i64, f64[n, m]) {\n  "
     "%2: i64[n] = argmax %0 {axis: 1}\n"
     "  %3: f64[n, m] = cumsum %0 {axis: 1, reverse: 0}\n  %4: f64[n] = cumsum %1 {axis: 0, "
     "reverse: 1}\n  %5: i64 = argmax %1 {axis: 0}\n"
     "  %6: f64[n, m] = cumsum %0 {axis: 0, reverse: 0}\n  return %2, %3, %4, %5, %6\n}\n",
     {{37, 20}, {640, 500}, {20, 17}},
     -2,
     2},
	{"layer",
     "fn @f[n, k, m](%0: f64[n, k], %1: f64[k, m], %2: f64[m]) -> (f64[n, m]) {\n"
     "  %3: f64[n, m] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
     "  %4: f64[n, m] = broadcast %2 {shape: [n, m], axes: [1]}\n  %5: f64[n, m] = add %3, %4\n  "
     "%6: f64[n, m] = tanh %5\n  return %6\n}\n",
     {{1000, 20, 20}, {77, 64, 33}, {17, 17, 40}},
     -1,
     1},
	{"layer, transposed weights, and its gradient",
     "fn @f[n, k, m](%0: f64[n, k], %1: f64[m, k], %2: f64[m], %9: f64[m, m]) -> (f64, f64[m, k], "
     "f64[m]) {\n"
     "  %3: f64[n, m] = dot %0, %1 {lcontract: [1], rcontract: [1], lbatch: [], rbatch: []}\n"
     "  %4: f64[n, m] = broadcast %2 {shape: [n, m], axes: [1]}\n  %5: f64[n, m] = add %3, %4\n  "
     "%6: f64[n, m] = tanh %5\n"
     "  %20: f64[n, m] = dot %6, %9 {lcontract: [1], rcontract: [1], lbatch: [], rbatch: []}\n  "
     "%21: f64[n, m] = tanh %20\n"
     "  %7: f64[n, m] = mul %21, %21\n  %8: f64 = reduce_sum %7 {axes: [0, 1]}\n"
     "  %10: f64[n, m] = mul %6, %6\n  %11: f64[n, m] = sub %21, %10\n"
     "  %12: f64[n, m] = dot %11, %9 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n  "
     "%13: f64[n, m] = mul %12, %10\n"
     "  %14: f64[m, k] = dot %13, %0 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n  "
     "%15: f64[m] = reduce_sum %13 {axes: [0]}\n"
     "  return %8, %14, %15\n}\n",
     {{1000, 20, 20}, {77, 64, 33}, {17, 17, 40}},
     -1,
     1},
	{"sums over the rows and another axis, joined",
     "fn @f[n, k, m](%0: f64[n, 2, k], %1: f64[n, 2, m], %2: f64[n, k], %3: f64[n, m], %4: f64[2, "
     "n, k]) -> (f64[k, m], f64[k, m], f64[m, k]) {\n"
     "  %5: f64[n, 2, k] = tanh %0\n  %6: f64[k, m] = dot %5, %1 {lcontract: [0, 1], rcontract: "
     "[0, 1], lbatch: [], rbatch: []}\n"
     "  %7: f64[n, m] = mul %3, %3\n  %8: f64[k, m] = dot %2, %7 {lcontract: [0], rcontract: [0], "
     "lbatch: [], rbatch: []}\n"
     "  %9: f64[k, m] = dot %4, %1 {lcontract: [1, 0], rcontract: [0, 1], lbatch: [], rbatch: []}\n"
     "  %10: f64[k, m] = add %6, %8\n  %11: f64[k, m] = add %10, %9\n"
     "  %12: f64[k, m] = dot %4, %1 {lcontract: [0, 1], rcontract: [1, 0], lbatch: [], rbatch: "
     "[]}\n"
     "  %13: f64[m, k] = dot %1, %5 {lcontract: [1, 0], rcontract: [1, 0], lbatch: [], rbatch: "
     "[]}\n"
     "  return %11, %12, %13\n}\n",
     {{1000, 20, 20}, {77, 64, 33}, {17, 1, 40}},
     -1,
     1},
	{"a large matrix by its own transpose",
     "fn @f[n, m](%0: f64[n, m], %1: f32[n, m]) -> (f64[m, m], f64[n, n], f32[m, m]) {\n"
     "  %2: f64[m, m] = dot %0, %0 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n"
     "  %3: f64[n, n] = dot %0, %0 {lcontract: [1], rcontract: [1], lbatch: [], rbatch: []}\n"
     "  %4: f32[m, m] = dot %1, %1 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n"
     "  return %2, %3, %4\n}\n",
     {{1000, 300}, {250, 941}, {3, 200}},
     -1,
     1},
	{"products of each row's matrices",
     "fn @f[n, k, m](%0: f64[n, k, m], %1: f64[n, m, k], %2: f64[n, k]) -> (f64[n, k, k], f64[n, "
     "m, m], f64[n, k, k], f64[n]) {\n"
     "  %3: f64[n, k, k] = dot %0, %1 {lcontract: [2], rcontract: [1], lbatch: [0], rbatch: [0]}\n"
     "  %4: f64[n, m, m] = dot %0, %1 {lcontract: [1], rcontract: [2], lbatch: [0], rbatch: [0]}\n"
     "  %5: f64[n, k, m] = tanh %0\n  %6: f64[n, k, k] = dot %5, %0 {lcontract: [2], rcontract: "
     "[2], lbatch: [0], rbatch: [0]}\n"
     "  %7: f64[n, k, k] = mul %6, %3\n  %8: f64[n] = reduce_sum %7 {axes: [1, 2]}\n"
     "  return %3, %4, %7, %8\n}\n",
     {{100, 20, 16}, {7, 33, 40}, {1, 17, 64}},
     -1,
     1},
	{"products along two axes, in f32",
     "fn @f[n, k](%0: f32[n, 2, 16, k], %1: f32[2, n, k, 16]) -> (f32[n, 2, 16, 16], f32[2, n, 16, "
     "16]) {\n"
     "  %2: f32[n, 2, 16, 16] = dot %0, %1 {lcontract: [3], rcontract: [2], lbatch: [0, 1], "
     "rbatch: [1, 0]}\n"
     "  %3: f32[2, n, 16, 16] = dot %0, %1 {lcontract: [3], rcontract: [2], lbatch: [1, 0], "
     "rbatch: [0, 1]}\n"
     "  return %2, %3\n}\n",
     {{100, 20}, {7, 33}, {1, 40}},
     -1,
     1},
	{"products of each row's matrices, of fixed size",
     "fn @f[n](%0: f64[n, 16, 16], %1: f64[n, 16, 16]) -> (f64[n, 16, 16]) {\n"
     "  %2: f64[n, 16, 16] = dot %0, %1 {lcontract: [2], rcontract: [1], lbatch: [0], rbatch: "
     "[0]}\n  return %2\n}\n",
     LENGTHS, -1, 1},
	{"a row is added to a product",
     "fn @f[m, k, n](%0: f64[m, k], %1: f64[k, n], %2: f64[n]) -> (f64[m, n]) {\n"
     "  %3: f64[m, n] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
     "  %4: f64[m, n] = broadcast %2 {shape: [m, n], axes: [1]}\n  %5: f64[m, n] = add %3, %4\n  "
     "return %5\n}\n",
     {{5000, 20, 20}, {9, 129, 37}, {70001, 3, 20}},
     -1,
     1},
	{"a row is added to a product with columns of f32",
     "fn @f[m, k, n](%0: f32[m, k], %1: f32[n, k], %2: f32[n]) -> (f32[m, n]) {\n"
     "  %3: f32[k, n] = transpose %1 {perm: [1, 0]}\n"
     "  %4: f32[m, n] = dot %0, %3 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
     "  %5: f32[m, n] = broadcast %2 {shape: [m, n], axes: [1]}\n  %6: f32[m, n] = add %5, %4\n  "
     "return %6\n}\n",
     {{5000, 20, 20}, {3, 7, 5}, {1000, 16, 16}},
     -1,
     1},
	{"products of 16 terms by a vector of columns",
     "fn @f[q, n, k, m](%0: f32[q, n, k], %1: f32[q, k, m]) -> (f32[q, n, m]) {\n"
     "  %2: f32[q, n, m] = dot %0, %1 {lcontract: [2], rcontract: [1], lbatch: [0], rbatch: [0]}\n "
     " return %2\n}\n",
     {{100, 16, 16, 16}, {7, 5, 16, 16}, {9, 33, 20, 64}},
     -1,
     1},
	{"per-row matrices",
     "fn @f[n](%0: f64[n, 3, 3], %1: f64[n, 3]) -> (f64[n, 3], f64[n]) {\n"
     "  %2: f64[n, 3] = dot %0, %1 {lcontract: [2], rcontract: [1], lbatch: [0], rbatch: [0]}\n  "
     "%3: f64[n, 3] = mul %2, %2\n"
     "  %4: f64[n] = reduce_sum %3 {axes: [1]}\n  %5: f64[n] = sqrt %4\n  %6: f64[n, 3] = "
     "broadcast %5 {shape: [n, 3], axes: [0]}\n"
     "  %7: f64[n, 3] = div %2, %6\n  return %7, %5\n}\n",
     LENGTHS, -2, 2},
	{"stencil",
     "fn @f[n](%0: f64[n, n]) -> (f64[n, n]) {\n  %1: f64[n - 2, n - 2] = slice %0 {start: [1, 1], "
     "length: [n - 2, n - 2], stride: [1, 1]}\n"
     "  %2: f64[n - 2, n - 2] = slice %0 {start: [0, 1], length: [n - 2, n - 2], stride: [1, 1]}\n"
     "  %3: f64[n - 2, n - 2] = slice %0 {start: [2, 1], length: [n - 2, n - 2], stride: [1, 1]}\n"
     "  %4: f64[n - 2, n - 2] = slice %0 {start: [1, 0], length: [n - 2, n - 2], stride: [1, 1]}\n"
     "  %5: f64[n - 2, n - 2] = add %2, %3\n  %6: f64[n - 2, n - 2] = add %5, %4\n  %7: f64[n - 2, "
     "n - 2] = sub %6, %1\n"
     "  %8: f64[n, n] = pad %7 {low: [1, 1], length: [n, n], stride: [1, 1]}\n  return %8\n}\n",
     {{37}, {300}, {17}},
     -2,
     2},
	{"gather, scatter, concat, pad",
     "fn @f[n, m](%0: f64[n], %1: f64[m], %2: f64[n, m]) -> (f64[n], f64[n + m], f64[n, 2], "
     "f64[2*n]) {\n  %3: i64[n] = iota {to: i64, length: n}\n"
     "  %4: i64[n] = broadcast 7 {shape: [n], axes: []}\n  %5: i64[n] = mod %3, %4\n  %6: f64[n] = "
     "gather %0, %5 {axis: 0, batch: 0}\n"
     "  %7: f64[n + m] = concat %6, %1 {axis: 0}\n  %8: f64[n] = scatter_add %0, %5, %6 {axis: 0, "
     "batch: 0}\n"
     "  %9: f64[n, 1] = reshape %6 {shape: [n, 1]}\n  %10: f64[n, 1] = reshape %0 {shape: [n, "
     "1]}\n  %11: f64[n, 2] = concat %9, %10 {axis: 1}\n"
     "  %12: f64[2*n] = reshape %11 {shape: [2*n]}\n  return %8, %7, %11, %12\n}\n",
     LENGTHS, -2, 2},
	{"updates of the inside, of rows, of columns, backwards",
     "fn @f[n, m](%0: f64[n, m], %1: f64[n], %2: f64[m]) -> (f64[n, m], f64[n, m], f64[n], f64[n, "
     "m]) {\n"
     "  %3: f64[n - 2, m - 2] = slice %0 {start: [0, 1], length: [n - 2, m - 2], stride: [1, 1]}\n"
     "  %4: f64[n - 2, m - 2] = slice %0 {start: [2, 1], length: [n - 2, m - 2], stride: [1, 1]}\n "
     " %5: f64[n - 2, m - 2] = add %3, %4\n"
     "  %6: f64[n, m] = update %0, %5 {start: [1, 1], stride: [1, 1]}\n"
     "  %7: f64[1, m] = slice %6 {start: [1, 0], length: [1, m], stride: [1, 1]}\n"
     "  %8: f64[n, m] = update %6, %7 {start: [0, 0], stride: [1, 1]}\n"
     "  %9: f64[n, 1] = slice %8 {start: [0, m - 2], length: [n, 1], stride: [1, 1]}\n"
     "  %10: f64[n, m] = update %8, %9 {start: [0, m - 1], stride: [1, 1]}\n"
     "  %11: f64[n, m - 3] = slice %0 {start: [0, 3], length: [n, m - 3], stride: [1, 1]}\n"
     "  %12: f64[n, m] = update %10, %11 {start: [n - 1, m - 4], stride: [-1, -1]}\n"
     "  %13: f64[n] = update %1, %1 {start: [n - 1], stride: [-1]}\n  %14: f64[n - 1] = slice %13 "
     "{start: [0], length: [n - 1], stride: [1]}\n"
     "  %15: f64[n] = update %13, %14 {start: [1], stride: [1]}\n  %16: f64[n, m] = exp %12\n"
     "  %17: f64[n, m - 1] = slice %16 {start: [0, 0], length: [n, m - 1], stride: [1, 1]}\n"
     "  %18: f64[n, m] = update %16, %17 {start: [0, 1], stride: [1, 1]}\n  return %10, %12, %15, "
     "%18\n}\n",
     {{37, 20}, {700, 500}, {18, 17}},
     -1,
     1},
	{"updates by steps, of short axes, of three axes",
     "fn @f[n, m](%0: f64[2*n, m], %1: f64[n, 4], %2: f32[n, m, 3], %9: f64[n, m]) -> (f64[2*n, "
     "m], f64[n, 4], f32[n, m, 3], f64[n, 4], f32[n, m, 3]) {\n"
     "  %3: f64[2*n, m] = update %0, %9 {start: [1, 0], stride: [2, 1]}\n"
     "  %4: f64[n, 2] = slice %1 {start: [0, 1], length: [n, 2], stride: [1, 1]}\n  %5: f64[n, 2] "
     "= exp %4\n"
     "  %6: f64[n, 4] = update %1, %5 {start: [0, 3], stride: [1, -2]}\n  %7: f64[n, 4] = mul %6, "
     "%6\n"
     "  %8: f32[n - 1, m - 1, 2] = slice %2 {start: [1, 1, 1], length: [n - 1, m - 1, 2], stride: "
     "[1, 1, 1]}\n"
     "  %10: f32[n, m, 3] = update %2, %8 {start: [0, 1, 0], stride: [1, 1, 1]}\n"
     "  %11: f64[n - 4, 4] = slice %7 {start: [4, 0], length: [n - 4, 4], stride: [1, 1]}\n"
     "  %12: f64[n, 4] = update %7, %11 {start: [1, 0], stride: [1, 1]}\n"
     "  %13: f32[n, 1, 3] = slice %10 {start: [0, 2, 0], length: [n, 1, 3], stride: [1, 1, 1]}\n"
     "  %14: f32[n, m, 3] = update %10, %13 {start: [0, m - 1, 0], stride: [1, 1, 1]}\n"
     "  return %3, %7, %10, %12, %14\n}\n",
     {{37, 20}, {300, 500}, {17, 18}},
     -1,
     1},
	{"an update that fails",
     "fn @f[n, m](%0: f64[n], %1: f64[m]) -> (f64[n]) {\n  %2: f64[m] = exp %1\n  %3: f64[n] = "
     "update %0, %2 {start: [3], stride: [1]}\n"
     "  return %3\n}\n",
     {{100, 50}, {60, 60}, {40, 17}},
     -2,
     2},
	{"a slice that fails",
     "fn @f[n, m](%0: f64[n], %1: f64[m]) -> (f64[m]) {\n  %2: f64[m] = slice %0 {start: [9], "
     "length: [m], stride: [2]}\n  %3: f64[m] = add %1, %2\n"
     "  return %3\n}\n",
     {{100, 40}, {1000, 600}, {60, 17}},
     -2,
     2},
	{"a slice of few elements that fails",
     "fn @f[n](%0: f64[n], %1: f64) -> (f64[4], f64[n]) {\n  %2: f64[6] = iota {to: f64, length: "
     "6}\n"
     "  %3: f64[4] = slice %2 {start: [3], length: [4], stride: [1]}\n"
     "  %4: f64[n] = exp %0\n  return %3, %4\n}\n",
     LENGTHS, -2, 2},
	{"a pad that fails",
     "fn @f[n, m](%0: f64[n], %1: f64[m]) -> (f64[m]) {\n  %2: f64[m] = pad %0 {low: [m - 1], "
     "length: [m], stride: [-2]}\n  %3: f64[m] = add %1, %2\n"
     "  return %3\n}\n",
     {{40, 100}, {600, 1000}, {17, 60}},
     -2,
     2},
	{"gather that fails",
     "fn @f[n](%0: f64[n], %1: i64[n]) -> (f64[n]) {\n  %2: f64[n] = gather %0, %1 {axis: 0, "
     "batch: 0}\n  return %2\n}\n",
     LENGTHS, -30, 30},
	{"two stages",
     "fn @f[n](%0: f64[n]) -> (f64[n]) {\n  %1: f64[n] = exp %0\n  %2: f64 = reduce_sum %1 {axes: "
     "[0]}\n"
     "  %3: f64[n] = broadcast %2 {shape: [n], axes: []}\n  %4: f64[n] = div %1, %3\n  return "
     "%4\n}\n",
     LENGTHS, -2, 2},
	{"bools and integers",
     "fn @f[n](%0: f64[n], %1: i64[n]) -> (bool, i64, i32[n], bool[n]) {\n  %2: f64[n] = broadcast "
     "0.5 {shape: [n], axes: []}\n"
     "  %3: bool[n] = lt %0, %2\n  %4: bool = reduce_min %3 {axes: [0]}\n  %5: i64 = reduce_sum %1 "
     "{axes: [0]}\n  %6: i32[n] = convert %1 {to: i32}\n"
     "  return %4, %5, %6, %3\n}\n",
     LENGTHS, -9, 9},
	{"rows: lu with its pivots",
     "fn @f[n](%0: f64[n, 3, 3]) -> (f64[n, 3, 3], i64[n, 3]) {\n"
     "  %1: f64[n, 3, 3], %2: i64[n, 3] = lu %0\n"
     "  return %1, %2\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -2,
     2},
	{"rows: lu of two matrices of eight rows in f32",
     "fn @f[n](%0: f32[n, 8, 8]) -> (f32[n, 8, 8], i64[n, 8]) {\n"
     "  %1: f32[n, 8, 8], %2: i64[n, 8] = lu %0\n"
     "  return %1, %2\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -2,
     2},
	{"rows: several matrices in each, NaN among them",
     "fn @f[n](%0: f64[n, 2, 3, 3]) -> (f64[n, 2, 3, 3], i64[n, 2, 3]) {\n"
     "  %1: f64[n, 2, 3, 3] = log %0\n"
     "  %2: f64[n, 2, 3, 3], %3: i64[n, 2, 3] = lu %1\n"
     "  return %2, %3\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -0.3,
     2},
	{"rows: the row is not the first axis",
     "fn @f[n](%0: f64[2, n, 2, 2]) -> (f64[2, n, 2, 2], i64[2, n, 2]) {\n"
     "  %1: f64[2, n, 2, 2], %2: i64[2, n, 2] = lu %0\n"
     "  return %1, %2\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -2,
     2},
	{"lu, cholesky and solves in registers",
     "fn @f(%0: f64[2, 3, 3], %1: f64[5, 5], %2: f32[4, 4]) -> (f64[2, 3, 3], i64[2, 3], f64[5, "
     "5], f64[5, 5], f32[4, 4], f32[4, 4]) {\n"
     "  %3: f64[2, 3, 3], %4: i64[2, 3] = lu %0\n"
     "  %11: i64[5] = iota {to: i64, length: 5}\n  %12: i64[5, 5] = broadcast %11 {shape: [5, 5], "
     "axes: [0]}\n"
     "  %13: i64[5, 5] = broadcast %11 {shape: [5, 5], axes: [1]}\n  %14: bool[5, 5] = eq %12, "
     "%13\n  %15: f64[5, 5] = convert %14 {to: f64}\n"
     "  %16: f64[5, 5] = dot %1, %1 {lcontract: [0], rcontract: [0], lbatch: [], rbatch: []}\n  "
     "%5: f64[5, 5] = add %16, %15\n"
     "  %6: f64[5, 5] = cholesky %5\n"
     "  %7: f64[5, 5] = trisolve %6, %1 {lower: 1, adjoint: 1, unit: 0}\n"
     "  %8: f32[4, 4], %9: i64[4] = lu %2\n"
     "  %10: f32[4, 4] = trisolve %2, %2 {lower: 0, adjoint: 0, unit: 0}\n"
     "  return %3, %4, %6, %7, %8, %10\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     0.5,
     2},
	{"rows: triangular solves of all kinds",
     "fn @f[n](%0: f64[n, 4, 4], %1: f64[n, 4, 2]) -> (f64[n, 4, 2], f64[n, 4, 2], f64[n, 4, 2], "
     "f64[n, 4, 2], f64[n, 4, 2], f64[n, 4, 2], f64[n, 4, 2], f64[n, 4, 2]) {\n"
     "  %2: f64[n, 4, 2] = trisolve %0, %1 {lower: 0, adjoint: 0, unit: 0}\n"
     "  %3: f64[n, 4, 2] = trisolve %0, %1 {lower: 1, adjoint: 0, unit: 0}\n"
     "  %4: f64[n, 4, 2] = trisolve %0, %1 {lower: 0, adjoint: 1, unit: 0}\n"
     "  %5: f64[n, 4, 2] = trisolve %0, %1 {lower: 1, adjoint: 1, unit: 0}\n"
     "  %6: f64[n, 4, 2] = trisolve %0, %1 {lower: 0, adjoint: 0, unit: 1}\n"
     "  %7: f64[n, 4, 2] = trisolve %0, %1 {lower: 1, adjoint: 0, unit: 1}\n"
     "  %8: f64[n, 4, 2] = trisolve %0, %1 {lower: 0, adjoint: 1, unit: 1}\n"
     "  %9: f64[n, 4, 2] = trisolve %0, %1 {lower: 1, adjoint: 1, unit: 1}\n"
     "  return %2, %3, %4, %5, %6, %7, %8, %9\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     0.5,
     2},
	{"rows: cholesky",
     "fn @f[n](%0: f64[n, 3, 3]) -> (f64[n, 3, 3], f64) {\n"
     "  %1: f64[n, 3, 3] = dot %0, %0 {lcontract: [1], rcontract: [1], lbatch: [0], rbatch: [0]}\n"
     "  %2: i64[3] = iota {to: i64, length: 3}\n"
     "  %3: i64[n, 3, 3] = broadcast %2 {shape: [n, 3, 3], axes: [1]}\n  %4: i64[n, 3, 3] = "
     "broadcast %2 {shape: [n, 3, 3], axes: [2]}\n"
     "  %5: bool[n, 3, 3] = eq %3, %4\n  %6: f64[n, 3, 3] = convert %5 {to: f64}\n"
     "  %7: f64[n, 3, 3] = add %1, %6\n"
     "  %8: f64[n, 3, 3] = cholesky %7\n"
     "  %9: f64 = reduce_sum %8 {axes: [0, 1, 2]}\n"
     "  return %8, %9\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -2,
     2},
	{"rows: all singular",
     "fn @f[n](%0: f64[n]) -> (f64[n, 2, 2]) {\n"
     "  %1: f64[n, 2, 2] = broadcast %0 {shape: [n, 2, 2], axes: [0]}\n"
     "  %2: f64[n, 2, 2], %3: i64[n, 2] = lu %1\n"
     "  return %2\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -2,
     2},
	{"rows: a loop between sums over the rows",
     "fn @f[n](%0: f64[n, 2], %1: i64) -> (f64[n, 2], f64[2]) {\n"
     "  %2: f64[2] = reduce_sum %0 {axes: [0]}\n"
     "  %20: f64[2] = broadcast 0.001 {shape: [2], axes: []}\n  %21: f64[2] = mul %2, %20\n"
     "  %3: f64[2] = tanh %21\n"
     "  %4: f64[n, 2] = broadcast %3 {shape: [n, 2], axes: [1]}\n"
     "  %5: f64[n, 2] = for 7, %0 {\n"
     "    (%6: i64, %7: f64[n, 2]):\n"
     "    %8: f64[n, 2] = mul %7, %4\n"
     "    %9: f64 = convert %6 {to: f64}\n"
     "    %10: f64[n, 2] = broadcast %9 {shape: [n, 2], axes: []}\n"
     "    %11: f64[n, 2] = add %8, %10\n"
     "    %12: f64[n, 2] = sin %11\n"
     "    yield %12\n"
     "  }\n"
     "  %13: f64[2] = reduce_sum %5 {axes: [0]}\n"
     "  %22: f64[2] = mul %13, %20\n"
     "  %14: f64[2] = sin %22\n"
     "  %15: f64[n, 2] = broadcast %14 {shape: [n, 2], axes: [1]}\n"
     "  %16: f64[n, 2] = for 3, %5 {\n"
     "    (%17: i64, %18: f64[n, 2]):\n"
     "    %19: f64[n, 2] = mul %18, %15\n"
     "    yield %19\n"
     "  }\n"
     "  return %16, %13\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -2,
     2},
	{"rows: a tape and single elements",
     "fn @f[n](%0: f64[n], %1: i64[n]) -> (f64[12, n], f64[n]) {\n"
     "  %2: f64[12, n] = broadcast 0.0 {shape: [12, n], axes: []}\n"
     "  %3: f64[n], %4: f64[12, n] = for 12, %0, %2 {\n"
     "    (%5: i64, %6: f64[n], %7: f64[12, n]):\n"
     "    %8: f64[n] = sin %6\n"
     "    %9: f64[12, n] = scatter_set %7, %5, %8 {axis: 0, batch: 0}\n"
     "    %10: f64[n] = add %8, %0\n"
     "    yield %10, %9\n"
     "  }\n"
     "  %11: i64[n] = abs %1\n"
     "  %12: f64[n, 12] = transpose %4 {perm: [1, 0]}\n"
     "  %13: f64[n] = for 5, %3 {\n"
     "    (%14: i64, %15: f64[n]):\n"
     "    %16: f64[n] = gather %12, %11 {axis: 1, batch: 1}\n"
     "    %17: f64[n] = add %15, %16\n"
     "    yield %17\n"
     "  }\n"
     "  return %4, %13\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -11,
     11},
	{"rows: each stops by itself",
     "fn @f[n](%0: f64[n, 2], %1: f64[n]) -> (f64[n, 2], i64[n]) {\n"
     "  %2: f64[n] = broadcast 0.0 {shape: [n], axes: []}\n"
     "  %3: bool[n] = lt %2, %1\n"
     "  %4: i64[n] = broadcast 0 {shape: [n], axes: []}\n"
     "  %5: f64[n, 2], %6: i64[n], %7: bool[n] = while %0, %4, %3 {\n"
     "    (%8: f64[n, 2], %9: i64[n], %10: bool[n]):\n"
     "    %11: i64[n] = convert %10 {to: i64}\n"
     "    %12: i64 = reduce_sum %11 {axes: [0]}\n"
     "    %13: bool = lt 0, %12\n"
     "    yield %13\n"
     "  } {\n"
     "    (%14: f64[n, 2], %15: i64[n], %16: bool[n]):\n"
     "    %17: i64[n] = broadcast 1 {shape: [n], axes: []}\n"
     "    %18: i64[n] = add %15, %17\n"
     "    %19: f64[n, 2] = cos %14\n"
     "    %20: bool[n, 2] = broadcast %16 {shape: [n, 2], axes: [0]}\n"
     "    %21: f64[n, 2] = select %20, %19, %14\n"
     "    %22: i64[n] = select %16, %18, %15\n"
     "    %23: f64[n] = reduce_sum %21 {axes: [1]}\n"
     "    %24: f64[n] = convert %22 {to: f64}\n"
     "    %25: f64[n] = add %23, %1\n"
     "    %26: f64[n] = mul %25, %1\n"
     "    %27: bool[n] = lt %24, %26\n"
     "    %28: bool[n] = min %16, %27\n"
     "    yield %21, %22, %28\n"
     "  }\n"
     "  return %5, %6\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -4,
     4},
	{"rows: all go on until the last is done",
     "fn @f[n](%0: f64[n], %1: f64[n]) -> (f64[n]) {\n"
     "  %2: f64[n] = broadcast 1.0 {shape: [n], axes: []}\n"
     "  %3: f64[n] = while %0 {\n"
     "    (%4: f64[n]):\n"
     "    %5: bool[n] = lt %2, %4\n"
     "    %6: i64[n] = convert %5 {to: i64}\n"
     "    %7: i64 = reduce_sum %6 {axes: [0]}\n"
     "    %8: bool = lt 0, %7\n"
     "    yield %8\n"
     "  } {\n"
     "    (%9: f64[n]):\n"
     "    %10: f64[n] = sub %9, %2\n"
     "    yield %10\n"
     "  }\n"
     "  return %3\n"
     "}\n",
     {{37, 20, 33}, {5000, 64, 17}, {1, 17, 40}},
     -4,
     9},
	{"short rows in one loop",
     "fn @f[n, k, m](%0: f64[n, k], %1: f64[m, k], %2: f64[m], %3: f64, %4: f64[n, m], %5: f64[m]) "
     "-> (f64[n, m], f64[n, m], f64[n, m], bool[n, m]) {\n"
     "  %6: f64[n, m] = dot %0, %1 {lcontract: [1], rcontract: [1], lbatch: [], rbatch: []}\n"
     "  %7: f64[n, m] = broadcast %2 {shape: [n, m], axes: [1]}\n  %8: f64[n, m] = add %6, %7\n  "
     "%9: f64[n, m] = tanh %8\n"
     "  %10: f64[n, m] = broadcast %3 {shape: [n, m], axes: []}\n  %11: f64[n, m] = mul %10, %4\n  "
     "%12: f64[n, m] = add %9, %11\n"
     "  %13: f64[m] = mul %5, %2\n  %14: f64[n, m] = broadcast %13 {shape: [n, m], axes: [1]}\n  "
     "%15: f64[n, m] = exp %12\n  %16: f64[n, m] = mul %15, %14\n"
     "  %17: f64[n, m] = cumsum %6 {axis: 1, reverse: 0}\n  %18: bool[n, m] = lt %9, %16\n  return "
     "%9, %16, %17, %18\n}\n",
     {{1000, 20, 20}, {131, 7, 3}, {17, 9, 150}},
     -1,
     1},
	{"short rows, whose width is a vector's or an odd number of them",
     "fn @f[n, k, m](%0: f64[n, k], %1: f64[k, m], %2: f64[m]) -> (f64[n, m]) {\n"
     "  %3: f64[n, m] = dot %0, %1 {lcontract: [1], rcontract: [0], lbatch: [], rbatch: []}\n"
     "  %4: f64[n, m] = broadcast %2 {shape: [n, m], axes: [1]}\n  %5: f64[n, m] = mul %3, %4\n  "
     "%6: f64[n, m] = abs %5\n  return %6\n}\n",
     {{300, 17, 36}, {200, 40, 8}, {65, 1, 1}},
     -1,
     1},
	{"short rows of f32, some of f64",
     "fn @f[n, k, m](%0: f32[n, k], %1: f32[m, k], %2: f32[m], %3: f64[m], %4: f32[n, m]) -> "
     "(f32[n, m], f64[n, m]) {\n"
     "  %5: f32[n, m] = dot %0, %1 {lcontract: [1], rcontract: [1], lbatch: [], rbatch: []}\n"
     "  %6: f32[n, m] = broadcast %2 {shape: [n, m], axes: [1]}\n  %7: f32[n, m] = add %5, %6\n  "
     "%8: f32[n, m] = tanh %7\n"
     "  %9: f64[n, m] = convert %4 {to: f64}\n  %10: f64[n, m] = broadcast %3 {shape: [n, m], "
     "axes: [1]}\n  %11: f64[n, m] = mul %9, %10\n"
     "  %12: f64[n, m] = sin %11\n  return %8, %12\n}\n",
     {{1000, 20, 20}, {64, 33, 15}, {3, 17, 100}},
     -1,
     1},
	{"short rows of a square, and what changes from row to row",
     "fn @f[n](%0: f64[n, n], %1: f64[n, n], %2: f64[n], %3: f64[n]) -> (f64[n, n], f64[n, n]) {\n"
     "  %4: f64[n, n] = dot %0, %1 {lcontract: [1], rcontract: [1], lbatch: [], rbatch: []}\n"
     "  %5: f64[n, n] = broadcast %2 {shape: [n, n], axes: [1]}\n  %6: f64[n, n] = add %4, %5\n  "
     "%7: f64[n, n] = tanh %6\n"
     "  %8: f64[n, n] = broadcast %3 {shape: [n, n], axes: [0]}\n  %9: f64[n, n] = mul %4, %8\n  "
     "%10: f64[n, n] = cos %9\n"
     "  return %7, %10\n}\n",
     {{33}, {100}, {70}},
     -1,
     1},
	{"fewer rows than their length, each reduced for itself",
     "fn @f[n, m](%0: f64[n, m]) -> (f64[n, m], i64[n], f64[n, m], f64[n]) {\n  %1: f64[n] = "
     "reduce_max %0 {axes: [1]}\n"
     "  %2: f64[n, m] = broadcast %1 {shape: [n, m], axes: [0]}\n  %3: f64[n, m] = sub %0, %2\n  "
     "%4: f64[n, m] = exp %3\n"
     "  %5: f64[n] = reduce_sum %4 {axes: [1]}\n  %6: f64[n, m] = broadcast %5 {shape: [n, m], "
     "axes: [0]}\n  %7: f64[n, m] = div %4, %6\n"
     "  %8: i64[n] = argmax %7 {axis: 1}\n  %9: f64[n, m] = cumsum %7 {axis: 1, reverse: 1}\n  "
     "%10: f64[n] = reduce_prod %7 {axes: [1]}\n"
     "  return %7, %8, %9, %10\n}\n",
     {{20, 300}, {300, 20}, {1, 1000}},
     -2,
     2},
	{"columns reduced each for itself, and what is left of the rows",
     "fn @f[n, m](%0: f64[n, m]) -> (f64[n, m], f64[n]) {\n  %1: f64[m] = reduce_sum %0 {axes: "
     "[0]}\n"
     "  %2: f64[n, m] = broadcast %1 {shape: [n, m], axes: [1]}\n  %3: f64[n, m] = sub %0, %2\n  "
     "%4: f64[n, m] = exp %3\n"
     "  %5: f64[n] = reduce_max %4 {axes: [1]}\n  return %4, %5\n}\n",
     {{20, 300}, {300, 20}, {17, 40}},
     -0.1,
     0.1},
	{"a mixture: its parts one after the other, with what is cheap made twice",
     "fn @f[n, k, d](%0: f64[n, d], %1: f64[k, d], %2: f64[k, d, d], %3: f64[k, n]) -> (f64[k, n], "
     "f64[k, d, d], f64[k, d], f64[n]) {\n"
     "  %4: f64[k, n, d] = broadcast %0 {shape: [k, n, d], axes: [1, 2]}\n  %5: f64[k, n, d] = "
     "broadcast %1 {shape: [k, n, d], axes: [0, 2]}\n"
     "  %6: f64[k, n, d] = sub %4, %5\n  %7: f64[k, n, d] = dot %6, %2 {lcontract: [2], rcontract: "
     "[2], lbatch: [0], rbatch: [0]}\n"
     "  %8: f64[k, n, d] = add %7, %6\n  %9: f64[k, n, d] = mul %8, %8\n  %10: f64[k, n] = "
     "reduce_sum %9 {axes: [2]}\n"
     "  %11: f64[n] = reduce_max %10 {axes: [0]}\n  %12: f64[k, n] = broadcast %11 {shape: [k, n], "
     "axes: [1]}\n  %13: f64[k, n] = sub %10, %12\n"
     "  %14: f64[k, n] = exp %13\n  %15: f64[n] = reduce_sum %14 {axes: [0]}\n  %16: f64[k, n] = "
     "broadcast %15 {shape: [k, n], axes: [1]}\n"
     "  %17: f64[k, n] = div %14, %16\n  %18: f64[k, n] = mul %17, %3\n  %19: f64[k, n, d] = "
     "broadcast %18 {shape: [k, n, d], axes: [0, 1]}\n"
     "  %20: f64[k, n, d] = mul %8, %19\n  %21: f64[k, d, d] = dot %20, %6 {lcontract: [1], "
     "rcontract: [1], lbatch: [0], rbatch: [0]}\n"
     "  %22: f64[k, d] = reduce_sum %20 {axes: [1]}\n  return %17, %21, %22, %15\n}\n",
     {{1000, 25, 10}, {77, 3, 20}, {17, 7, 1}},
     -1,
     1},
	{"networks side by side, in f32, whose operands are copied",
     "fn @f[n, k, d](%0: f32[n, d], %1: f32[k, d, d], %2: f32[k, d, d]) -> (f32[k, n, d], f32[n, "
     "d], f32[k, d, d]) {\n"
     "  %3: f32[k, n, d] = broadcast %0 {shape: [k, n, d], axes: [1, 2]}\n"
     "  %4: f32[k, n, d] = dot %3, %1 {lcontract: [2], rcontract: [1], lbatch: [0], rbatch: [0]}\n "
     " %5: f32[k, n, d] = tanh %4\n"
     "  %6: f32[k, n, d] = dot %5, %2 {lcontract: [2], rcontract: [2], lbatch: [0], rbatch: [0]}\n "
     " %7: f32[k, n, d] = mul %6, %5\n"
     "  %8: f32[n, d] = reduce_sum %7 {axes: [0]}\n  %9: f32[k, d, d] = dot %7, %3 {lcontract: "
     "[1], rcontract: [1], lbatch: [0], rbatch: [0]}\n"
     "  return %7, %8, %9\n}\n",
     {{1000, 25, 10}, {77, 3, 20}, {17, 7, 1}},
     -1,
     1},
	{"networks side by side that read each other",
     "fn @f[n, k, d](%0: f64[n, d], %1: f64[k, d, d], %2: f64[k, d, d]) -> (f64[n, d], f64[k, d, "
     "d]) {\n"
     "  %3: f64[k, n, d] = broadcast %0 {shape: [k, n, d], axes: [1, 2]}\n"
     "  %4: f64[k, n, d] = dot %3, %1 {lcontract: [2], rcontract: [1], lbatch: [0], rbatch: [0]}\n "
     " %5: f64[k, n, d] = tanh %4\n"
     "  %6: i64[k] = iota {to: i64, length: k}\n  %7: i64 = extent {dim: k}\n  %8: i64[k] = "
     "broadcast %7 {shape: [k], axes: []}\n  %9: i64[k] = sub %8, %6\n"
     "  %10: i64[k] = broadcast 1 {shape: [k], axes: []}\n  %11: i64[k] = sub %9, %10\n  %12: "
     "f64[k, n, d] = gather %5, %11 {axis: 0, batch: 0}\n"
     "  %13: f64[k, n, d] = add %5, %12\n  %14: f64[k, n, d] = dot %13, %2 {lcontract: [2], "
     "rcontract: [2], lbatch: [0], rbatch: [0]}\n"
     "  %15: f64[k, n, d] = mul %14, %13\n  %16: f64[n, d] = reduce_sum %15 {axes: [0]}\n"
     "  %17: f64[k, d, d] = dot %15, %3 {lcontract: [1], rcontract: [1], lbatch: [0], rbatch: "
     "[0]}\n  return %16, %17\n}\n",
     {{1000, 25, 10}, {77, 3, 20}, {17, 7, 1}},
     -1,
     1},
	{"distances from what an earlier loop has made",
     "fn @f[n, k, d](%0: f64[n, d], %1: f64[k, d], %2: f64[k, d, d]) -> (f64[k, n], f64[k, d, d], "
     "f64[n]) {\n"
     "  %3: f64[n, d] = tanh %0\n  %4: f64[d] = reduce_sum %3 {axes: [0]}\n  %5: f64[k, n, d] = "
     "broadcast %3 {shape: [k, n, d], axes: [1, 2]}\n"
     "  %6: f64[k, d] = broadcast %4 {shape: [k, d], axes: [1]}\n  %7: f64[k, d] = mul %1, %6\n  "
     "%8: f64[k, n, d] = broadcast %7 {shape: [k, n, d], axes: [0, 2]}\n"
     "  %9: f64[k, n, d] = sub %5, %8\n  %10: f64[k, n, d] = dot %9, %2 {lcontract: [2], "
     "rcontract: [1], lbatch: [0], rbatch: [0]}\n"
     "  %11: f64[k, n, d] = mul %10, %9\n  %12: f64[k, n] = reduce_sum %11 {axes: [2]}\n"
     "  %13: f64[k, d, d] = dot %11, %9 {lcontract: [1], rcontract: [1], lbatch: [0], rbatch: "
     "[0]}\n  %14: f64[n] = reduce_max %12 {axes: [0]}\n  return %12, %13, %14\n}\n",
     {{1000, 25, 10}, {77, 3, 20}, {17, 7, 1}},
     -1,
     1},
	{"lengths that a guard makes equal",
     "fn @f[n, m](%0: f64[n, m], %1: f64[20], %2: f64[m]) -> (f64[20], f64[m]) {\n  %16: i64 = "
     "extent {dim: n}\n"
     "  %3: f64[20] = for %16, %1 {\n    (%4: i64, %5: f64[20]):\n    %6: f64[m] = gather %0, %4 "
     "{axis: 0, batch: 0}\n"
     "    guard {left: m, right: 20, what: \"lengths\"}\n    yield %6\n  }\n"
     "  %7: f64[m] = for %16, %2 {\n    (%8: i64, %9: f64[m]):\n    %11: f64[20] = add %1, %3\n"
     "    guard {left: m, right: 20, what: \"lengths\"}\n    yield %11\n  }\n"
     "  return %3, %7\n}\n",
     {{3, 20}, {4, 20}, {2, 17}},
     -1,
     1},
};

static void run_program(T *t, const Program *p) {
	Fn *f = read_program(t, p);
	if (!f) {
		ev_show_diags(t);
		CHECK_MSG(false, "%s: not read", p->name);
		return;
	}
	Native n;
	bool made = native_make(t, &n, f, p->lengths[0], false);
	CHECK_MSG(made, "%s: not made", p->name);
	for (uint32_t k = 0; k < 3 && made; k++) compare(t, p, &n, f, p->lengths[k]);
	native_drop(&n);
	fn_unref(f);
}

static void test_programs(T *t) {
	for (uint32_t i = 0; i < sizeof programs / sizeof *programs; i++) run_program(t, &programs[i]);
}

/* ---- one file ------------------------------------------------------------ */

static const char *file_name;
static int64_t file_lengths[8] = {1000, 20, 20, 20, 20, 20, 20, 20};

static void copy_flat(Ctx *c, Builder *b, const Fn *f, const Ref *args, Ref *results) {
	RefMap m = refmap_new(b, f, false);
	for (uint32_t i = 0; i < fn_nparams(f); i++) refmap_set(&m, fn_param(f, i), args[i]);
	const Region *body = &f->regions.at[0];
	for (uint32_t i = 0; i < body->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[body->insts + i]];
		if (in->op != OP_CALL) {
			build_copy_inst(b, &m, in);
			continue;
		}
		const Fn *callee = inst_callee(c, in);
		Ref inner[128], out[128];
		for (uint32_t k = 0; k < in->nargs; k++) inner[k] = refmap_get(b, &m, inst_arg(f, in, k));
		copy_flat(c, b, callee, inner, out);
		for (uint32_t k = 0; k < in->nresults; k++) refmap_set(&m, inst_result(in, k), out[k]);
	}
	for (uint32_t i = 0; i < body->nresults; i++) results[i] = refmap_get(b, &m, fn_result(f, i));
}

static Fn *flat(Ctx *c, Fn *f) {
	Builder *b = build_begin(c, f->name, f->span, f);
	Ref args[128], results[128];
	for (uint32_t i = 0; i < fn_nparams(f); i++)
		args[i] = build_param(b, ref_type(f, fn_param(f, i)), 0);
	copy_flat(c, b, f, args, results);
	return build_end(b, fn_nresults(f), results);
}

static void run_file(T *t) {
	static char text[1 << 20];
	FILE *in = fopen(file_name, "r");
	if (!in) return;
	size_t size = fread(text, 1, sizeof text - 1, in);
	fclose(in);
	text[size] = 0;
	Program p = {.name = file_name, .text = text, .lo = -1, .hi = 1};
	Fn *f = read_program(t, &p);
	if (!f) {
		ev_show_diags(t);
		return;
	}
	Native n;
	Fn *whole = f;
	f = flat(t->c, whole);
	double start = seconds();
	clock_t made_in = clock();
	bool made = native_make(t, &n, f, file_lengths, getenv("ATLED_VERBOSE") != NULL);
	printf("made in %.2f ms, %.2f ms of processors\n", 1e3 * (seconds() - start),
	       1e3 * (double)(clock() - made_in) / CLOCKS_PER_SEC);
	if (made) {
		compare(t, &p, &n, f, file_lengths);
		Value args[64], results[32];
		for (uint32_t k = 0; k < fn_nparams(f); k++)
			args[k] = random_arg(t, f, k, file_lengths, &p);
		NativeCall call;
		for (int k = 0; k < 5; k++) {
			clock_t cpu = clock();
			start = seconds();
			native_go(t, &n, f, args, file_lengths, results, &call);
			printf("native %.3f ms, %.3f ms of processors\n", 1e3 * (seconds() - start),
			       1e3 * (double)(clock() - cpu) / CLOCKS_PER_SEC);
			ev_drop(results, fn_nresults(f));
		}
		start = seconds();
		code_call(t->c, code_of(t->c, f), args, results);
		printf("evaluator %.3f ms\n", 1e3 * (seconds() - start));
		ev_drop(results, fn_nresults(f));
		ev_drop(args, fn_nparams(f));
	}
	native_drop(&n);
	fn_unref(f);
	fn_unref(whole);
}

int main(int argc, char **argv) {
	char why[256];
	if (!native_codegen(why, sizeof why)) {
		check_skip("%s", why);
		return check_end();
	}
	if (argc > 1) {
		file_name = argv[1];
		for (int i = 2; i < argc && i < 10; i++) file_lengths[i - 2] = atoll(argv[i]);
		const TestCase one[] = {{"file", run_file}};
		return ev_run_tests(1, one);
	}
	const TestCase tests[] = {{"programs", test_programs}};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
