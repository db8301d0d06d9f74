/* real_transforms.c - 1-D transforms of real data along an axis:
 * real-to-complex Fourier transform, its inverse, discrete sine transform
 * (DST).
 *
 * Needs: real_transforms.h, backend/numlib/fftw.h.
 *
 * Contract: as in real_transforms.h. A chunk is a fixed group of neighbouring
 * pencils, whichever thread runs it.
 */
#include "solvers/fft/real_transforms.h"
#include "backend/eval/core/frame.h"
#include "backend/numlib/fftw.h"
#include "lang/base/thread_pool.h"
#include <math.h>

enum { OPTION_FUNCTIONS, OPTION_KIND, OPTION_AXIS, OPTION_LINES, OPTIONS }; /* functions: none */

typedef struct TransformJob {
	const FftRealPlan *plan;
	Backend *be;
	int64_t n, outer, inner;
	int64_t groups; /* chunks per outer position; in total if inner == 1 */
	const double *x;
	double *o;
	double *workspaces; /* one per thread */
	uint64_t work;      /* cost of one chunk */
} TransformJob;

static void run_part(void *ud, int64_t part) {
	const TransformJob *j = ud;
	double *workspace = j->workspaces
	                        ? j->workspaces + (size_t)pool_worker() * fft_real_workspace(j->plan)
	                        : fft_real_own(j->plan);
	const bool rows = j->inner == 1;
	const int64_t lines = rows ? j->outer : j->inner, first = part % j->groups * FFT_GROUP;
	const int64_t from = rows ? first * j->n : part / j->groups * j->n * j->inner + first;
	const int now = (int)(lines - first < FFT_GROUP ? lines - first : FFT_GROUP);
	fft_real_lines(j->plan, now, rows ? 1 : j->inner, rows ? j->n : 1, j->x + from, j->o + from,
	               workspace);
}

static Status poll_part(void *ud) {
	const TransformJob *j = ud;
	return spend(j->be, j->work);
}

/* Transforms x[outer, length, inner] into o along the middle axis. */
static Status transform(Ctx *c, const HostCall *call, int64_t outer, int64_t length, int64_t inner,
                        const double *x, double *o) {
	Backend *be = backend_of(c);
	const FftReal kind = (FftReal)call->options[OPTION_KIND];
	const int64_t several = call->options[OPTION_LINES], n = length / several;
	if (n * several != length) {
		diag_error(c, E_VALUE, NO_SPAN, "real_lines: %lld elements are not %lld lines",
		           (long long)length, (long long)several);
		return ST_ERROR;
	}
	outer *= several;
	if (!n || !outer || !inner) return ST_OK;
	const char *why;
	TransformJob j = {.plan = fft_real_plan(c, &be->fft, kind, n, inner == 1 ? outer : inner, &why),
	                  .be = be,
	                  .n = n,
	                  .outer = outer,
	                  .inner = inner,
	                  .x = x,
	                  .o = o};
	if (!j.plan) {
		if (!why) return ST_NOMEM;
		diag_error(c, E_FILE, NO_SPAN, "%s", why);
		return ST_ERROR;
	}
	const int64_t lines = inner == 1 ? outer : inner;
	j.groups = (lines + FFT_GROUP - 1) / FFT_GROUP;
	const int64_t parts = inner == 1 ? j.groups : j.groups * outer;
	const double line = 5.0 * (double)n * (n > 1 ? log2((double)n) : 1);
	j.work = (uint64_t)(line * (double)(lines < FFT_GROUP ? lines : FFT_GROUP));
	be->counters.scalar_operations += line * (double)(outer * inner);
	if (parts == 1) {
		run_part(&j, 0);
		return poll_part(&j);
	}
	Pool *pool = parallel_pool(be->ctx);
	const size_t bytes =
		(size_t)(pool ? pool_width(pool) : 1) * fft_real_workspace(j.plan) * sizeof(double) + 64;
	void *memory = heap_alloc(c, bytes);
	if (!memory) return ST_NOMEM;
	j.workspaces = (double *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
	const Status st =
		parallel_for(be->ctx, (int64_t)j.work * parts, parts, run_part, &j, poll_part);
	heap_free(c, memory, bytes);
	return st;
}

static Status eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                   uint32_t nresults, Value *results) {
	(void)nargs, (void)nresults;
	Tensor *x = tensor_contiguous(c, args[0].tensor);
	Tensor *o = x ? tensor_new(c, DT_F64, x->rank, x->shape) : NULL;
	Status st = o ? ST_OK : ST_NOMEM;
	if (o) {
		const uint32_t axis = (uint32_t)call->options[OPTION_AXIS];
		int64_t outer = 1, inner = 1;
		for (uint32_t a = 0; a < axis; a++) outer *= x->shape[a];
		for (uint32_t a = axis + 1; a < x->rank; a++) inner *= x->shape[a];
		st = transform(c, call, outer, x->shape[axis], inner, (const double *)(const void *)x->data,
		               (double *)(void *)o->data);
	}
	tensor_unref(x);
	if (st == ST_OK) results[0] = value_tensor(o);
	else tensor_unref(o);
	return st;
}

static Status direct(Ctx *c, const HostCall *call, const HostArray *args,
                     const HostArray *results) {
	return transform(c, call, 1, args[0].count, 1, args[0].data, results[0].data);
}

static bool fits(const Fn *f, const HostCall *call, const Ref *args, uint32_t nargs) {
	const Type *t = nargs == 1 ? ref_ty(f, args[0]) : NULL;
	return t && t->kind == TY_TENSOR && t->dtype == DT_F64 && !call->nfns &&
	       call->noptions == OPTIONS && call->options[OPTION_KIND] >= 0 &&
	       call->options[OPTION_KIND] < FFT_REALS && call->options[OPTION_AXIS] >= 0 &&
	       call->options[OPTION_AXIS] < t->rank && call->options[OPTION_LINES] >= 1;
}

static uint32_t types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                      TypeId *out, uint32_t cap) {
	(void)cap;
	if (!fits(build_fn(b), call, args, nargs)) {
		diag_error(build_ctx(b), E_TYPE, span_of(build_ctx(b), build_span(b)),
		           "%s: wants an array of f64, which transform, one of its axes, and how many "
		           "lines stand behind each other there",
		           call->def->name);
		ctx_throw(build_ctx(b), ST_ERROR);
	}
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}

static bool may_store(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      uint32_t nresults, const TypeId *stated) {
	return fits(build_fn(b), call, args, nargs) && nresults == 1 &&
	       stated[0] == ref_type(build_fn(b), args[0]);
}

/* Batch elements become further pencils. */
static void batch(Builder *b, const HostCall *call, Dim n, uint32_t nargs, const Ref *args,
                  const bool *batched, Ref *results) {
	(void)n, (void)batched;
	const int64_t options[OPTIONS] = {0, call->options[OPTION_KIND], call->options[OPTION_AXIS] + 1,
	                                  call->options[OPTION_LINES]};
	build_host(b, host_call_intern(build_ctx(b), call->def, 0, NULL, OPTIONS, options), nargs, args,
	           results, 1);
}

const HostDef real_lines_host = {.name = "real_lines",
                                 .types = types,
                                 .eval = eval,
                                 .direct = direct,
                                 .batch = batch,
                                 .may_store = may_store};
