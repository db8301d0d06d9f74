/* elementwise.c - the common implementation of element-wise host functions.
 *
 * Needs: elementwise.h, backend/eval/core/frame.h. Contract: as in
 * elementwise.h.
 */
#include "solvers/special/elementwise.h"
#include "backend/eval/core/frame.h"
#include "solvers/special/gsl.h"

/* Elements per chunk, and the cost of an element in additions. A special
 * function takes from tens of nanoseconds to microseconds. */
enum { PART = 256, WEIGHT = 128 };

typedef struct SpecialJob {
	double (*value)(const double *x);
	uint32_t nargs;
	int64_t count;
	const double *in[EACH_ARGS];
	int64_t step[EACH_ARGS]; /* 0 where an operand is the same scalar everywhere */
	double *out;
	Backend *be;
} SpecialJob;

static void run_part(void *ud, int64_t part) {
	const SpecialJob *j = ud;
	const int64_t from = part * PART, to = from + PART < j->count ? from + PART : j->count;
	double x[EACH_ARGS];
	for (int64_t i = from; i < to; i++) {
		for (uint32_t k = 0; k < j->nargs; k++) x[k] = j->in[k][i * j->step[k]];
		j->out[i] = j->value(x);
	}
}

static Status poll_part(void *ud) {
	const SpecialJob *j = ud;
	return spend(j->be, (uint64_t)PART * WEIGHT);
}

/* A contiguous view of the operand; a broadcast scalar is not materialised and
 * has *step 0. */
static Tensor *readable(Ctx *c, Tensor *t, int64_t *step) {
	bool one = t->count > 0;
	for (uint32_t a = 0; a < t->rank; a++) one = one && (t->stride[a] == 0 || t->shape[a] == 1);
	*step = !one;
	return one ? tensor_ref(t) : tensor_contiguous(c, t);
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	const EachRow *row = call->def->ud;
	(void)nresults;
	if (row->by_gsl && !gsl_open()) {
		diag_error(c, E_FILE, NO_SPAN, "%s", gsl_missing);
		return ST_ERROR;
	}
	if (args[0].kind == V_SCALAR) {
		double x[EACH_ARGS];
		for (uint32_t k = 0; k < nargs; k++) x[k] = args[k].f;
		results[0] = value_f64(row->value(x));
		return spend(backend_of(c), WEIGHT);
	}
	Tensor *t[EACH_ARGS] = {0},
		   *out = tensor_new(c, DT_F64, args[0].tensor->rank, args[0].tensor->shape);
	Status st = out ? ST_OK : ST_NOMEM;
	SpecialJob j = {.value = row->value, .nargs = nargs, .be = backend_of(c)};
	for (uint32_t k = 0; k < nargs && st == ST_OK; k++) {
		t[k] = readable(c, args[k].tensor, &j.step[k]);
		if (!t[k]) st = ST_NOMEM;
		else j.in[k] = (const double *)(const void *)t[k]->data;
	}
	if (st == ST_OK) {
		j.out = (double *)(void *)out->data;
		j.count = out->count;
		j.be->counters.scalar_operations += (double)j.count;
		st =
			parallel_for(c, j.count * WEIGHT, (j.count + PART - 1) / PART, run_part, &j, poll_part);
	}
	for (uint32_t k = 0; k < nargs; k++) tensor_unref(t[k]);
	if (st == ST_OK) results[0] = value_tensor(out);
	else tensor_unref(out);
	return st;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	const EachRow *row = call->def->ud;
	bool fits = nargs == row->nargs && cap > 0;
	for (uint32_t k = 0; k < nargs && fits; k++) {
		const Type *t = ref_ty(build_fn(b), args[k]), *first = ref_ty(build_fn(b), args[0]);
		fits = t->kind == TY_TENSOR && t->dtype == DT_F64 && t->rank == first->rank;
	}
	if (!fits) {
		diag_error(build_ctx(b), E_TYPE, span_of(build_ctx(b), build_span(b)),
		           "%s takes %u real arrays of one shape", row->name, row->nargs);
		ctx_throw(build_ctx(b), ST_ERROR);
	}
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}

/* Serialisable: operands are f64 arrays, and the result has their type. */
static bool may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      uint32_t nresults, const TypeId *stated) {
	const EachRow *row = call->def->ud;
	bool fits = !call->nfns && !call->noptions && nargs == row->nargs && nresults == 1;
	for (uint32_t k = 0; k < nargs && fits; k++)
		fits = ref_type(build_fn(b), args[k]) == stated[0] &&
		       ref_ty(build_fn(b), args[k])->kind == TY_TENSOR &&
		       ref_ty(build_fn(b), args[k])->dtype == DT_F64;
	return fits;
}

/* Batch elements are further elements. */
static void batch(Builder *b, const HostCall *call, Dim n, uint32_t nargs, const Ref *args,
                  const bool *batched, Ref *results) {
	Ref all[EACH_ARGS];
	for (uint32_t k = 0; k < nargs; k++) {
		all[k] = args[k];
		if (batched[k]) continue;
		const Type t = *ref_ty(build_fn(b), args[k]);
		Dim dims[MAX_RANK + 1] = {n};
		int axes[MAX_RANK + 1];
		for (uint32_t a = 0; a < t.rank; a++) {
			dims[a + 1] = t.dims[a];
			axes[a] = (int)a + 1;
		}
		all[k] = build_broadcast(b, args[k], t.rank + 1u, dims, axes);
	}
	build_host(b, host_call_intern(build_ctx(b), call->def, 0, NULL, call->noptions, call->options),
	           nargs, all, results, 1);
}

void each_register(Ctx *c) {
	for (const EachRow *row = each_rows; row->name; row++)
		host_register(c, &(HostDef){.name = arena_printf(ctx_arena(c), "each.%s", row->name),
		                            .ud = (void *)(uintptr_t)row,
		                            .nargs = row->nargs,
		                            .types = types,
		                            .eval = eval,
		                            .batch = batch,
		                            .may_store = may_store,
		                            .pure = true});
}
