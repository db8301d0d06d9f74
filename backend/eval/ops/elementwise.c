/* elementwise.c - element-wise primitives, select and convert on tensors.
 *
 * Needs: frame.h, kernels.h.
 *
 * Contract:
 * - An operand that dies here is overwritten if it is contiguous, not shared,
 *   and of the result's dtype. Other layouts are read a run at a time.
 * - Large arrays are cut into chunks of fixed size that threads share. Results
 *   do not depend on the number of threads.
 * - The context is polled between chunks.
 */
#include "backend/eval/core/frame.h"
#include "backend/kernels/kernels.h"

enum {
	PART = 8 * STREAM_RUN /* elements between two polls */
};

/* One kernel on up to three streams. */
typedef struct ElementwiseJob {
	Op op;
	EwKernel kernel; /* NULL: select */
	uint32_t n_in, out_size;
	int64_t count;
	ElementStream in[3];
	char *out;
	Backend *be;
	atomic_llong failed; /* an index without a result, or -1 */
} ElementwiseJob;

static void run_range(ElementwiseJob *j, int64_t from, int64_t n) {
	_Alignas(64) char buffer[3][STREAM_RUN * 16];
	const bool flat = j->in[0].mode != STREAM_STRIDED &&
	                  (j->n_in < 2 || j->in[1].mode != STREAM_STRIDED) &&
	                  (j->n_in < 3 || j->in[2].mode != STREAM_STRIDED);
	const int64_t step = flat ? n : STREAM_RUN;
	const uint32_t first = j->kernel ? 0 : 1; /* select: the condition is separate */
	int splats = 0;
	if (j->in[first].mode == STREAM_SPLAT) splats |= KERNEL_X_SPLAT;
	if (j->n_in > first + 1 && j->in[first + 1].mode == STREAM_SPLAT) splats |= KERNEL_Y_SPLAT;
	for (int64_t at = from, end = from + n; at < end; at += step) {
		int64_t m = end - at < step ? end - at : step;
		const void *p[3] = {NULL, NULL, NULL};
		for (uint32_t k = 0; k < j->n_in; k++) p[k] = stream_read(&j->in[k], at, m, buffer[k]);
		char *o = j->out + at * j->out_size;
		if (!j->kernel) {
			if (j->in[0].mode == STREAM_SPLAT) { /* one branch for all elements */
				const uint32_t chosen = *(const bool *)p[0] ? 1 : 2;
				if (j->in[chosen].mode != STREAM_SPLAT) {
					memmove(o, p[chosen], (size_t)m * j->out_size);
					continue;
				}
				memset(buffer[0], 1, sizeof buffer[0]);
				for (int64_t i = 0; i < m; i += STREAM_RUN)
					kernel_select(j->out_size, m - i < STREAM_RUN ? m - i : STREAM_RUN,
					              o + i * j->out_size, (const bool *)buffer[0], p[chosen],
					              p[chosen], KERNEL_X_SPLAT | KERNEL_Y_SPLAT);
				continue;
			}
			kernel_select(j->out_size, m, o, p[0], p[1], p[2], splats);
			continue;
		}
		int64_t bad = j->kernel(j->op, m, o, p[0], p[1], splats);
		if (UNLIKELY(bad >= 0)) {
			long long none = -1;
			atomic_compare_exchange_strong(&j->failed, &none, at + bad);
			return;
		}
	}
}

static void run_part(void *ud, int64_t part) {
	ElementwiseJob *j = ud;
	int64_t from = part * PART, n = j->count - from;
	if (atomic_load_explicit(&j->failed, memory_order_relaxed) < 0)
		run_range(j, from, n < PART ? n : PART);
}

static Status poll_part(void *ud) {
	const ElementwiseJob *j = ud;
	return spend(j->be, PART);
}

static Status run_job(ElementwiseJob *j) {
	Backend *be = j->be;
	be->counters.scalar_operations += (double)j->count;
	if (j->count <= PART) {
		run_range(j, 0, j->count);
		return spend(be, (uint64_t)j->count);
	}
	return parallel_for(be->ctx, j->count, (j->count + PART - 1) / PART, run_part, j, poll_part);
}

static bool same_shapes(const Tensor *const *t, uint32_t n) {
	for (uint32_t k = 1; k < n; k++)
		if (!tensor_same_shape(t[0], t[k])) return false;
	return true;
}

/* The memory of the result: an operand (from `first` on) that may be
 * overwritten, else the caller's, else a new tensor. */
static Tensor *result_tensor(Frame *f, const Step *s, uint32_t first, const Tensor *like) {
	for (uint32_t k = first; k < s->nargs; k++) {
		const Value *v = operand(f, s, k);
		if (v->kind == V_TENSOR && v->tensor->dtype == s->out_dtype && operand_is_free(f, s, k))
			return take_operand(f, s, k).tensor;
	}
	Tensor *placed = placed_result(f, s, (Dtype)s->out_dtype, like->rank, like->shape);
	return placed ? placed : tensor_new(f->ctx, (Dtype)s->out_dtype, like->rank, like->shape);
}

/* Reports that a kernel had no result at an index. `out` may be the divisor's
 * own tensor. */
static __attribute__((cold, noinline)) Status no_result(Frame *f, const Step *s, int64_t index,
                                                        const Tensor *out) {
	const Value *y = operand(f, s, s->nargs - 1);
	char element[16];
	ElementStream ys;
	stream_open(&ys, y->kind == V_TENSOR ? y->tensor : out);
	const void *at = stream_read(&ys, index, 1, element);
	return fail_arithmetic(f, s, s->dtype == DT_I32 ? *(const int32_t *)at : *(const int64_t *)at);
}

/* Whether t is a scalar seen as an array. */
static bool is_splat(const Tensor *t) {
	for (uint32_t i = 0; i < t->rank; i++)
		if (t->stride[i] && t->shape[i] != 1) return false;
	return true;
}

/* Calls the kernel directly for short operands, which are contiguous, or splats
 * according to `splats`. */
static Status run_short(Frame *f, const Step *s, uint32_t n_in, const Tensor *const *t, int splats,
                        Tensor *out) {
	const int64_t n = t[0]->count;
	f->be->counters.scalar_operations += (double)n;
	if (n_in == 3) {
		kernel_select((uint32_t)dtype_size((Dtype)s->out_dtype), n, out->data,
		              (const bool *)t[0]->data, t[1]->data, t[2]->data, splats);
		return spend(f->be, (uint64_t)n);
	}
	int64_t bad = ew_kernel((Dtype)s->dtype)((Op)s->op, n, out->data, t[0]->data,
	                                         n_in > 1 ? t[1]->data : NULL, splats);
	return UNLIKELY(bad >= 0) ? no_result(f, s, bad, out) : spend(f->be, (uint64_t)n);
}

static Status run_long(Frame *f, const Step *s, uint32_t n_in, const Tensor *const *t,
                       Tensor *out) {
	ElementwiseJob j = {
		.op = (Op)s->op, .n_in = n_in, .count = t[0]->count, .be = f->be, .out = out->data};
	atomic_init(&j.failed, -1);
	for (uint32_t k = 0; k < n_in; k++) stream_open(&j.in[k], t[k]);
	j.out_size = (uint32_t)dtype_size((Dtype)s->out_dtype);
	if (s->op != OP_SELECT) j.kernel = ew_kernel((Dtype)s->dtype);
	Status st = run_job(&j);
	long long failed = atomic_load(&j.failed);
	return st == ST_OK && failed >= 0 ? no_result(f, s, failed, out) : st;
}

static Status run_elementwise(Frame *f, const Step *s, uint32_t n_in) {
	const Tensor *t[3];
	const uint32_t first = s->op == OP_SELECT ? 1 : 0; /* select: the condition is separate */
	bool flat = true;
	int splats = 0;
	for (uint32_t k = 0; k < n_in; k++) {
		t[k] = operand(f, s, k)->tensor;
		if (t[k]->contiguous) continue;
		if (k >= first && is_splat(t[k])) splats |= k == first ? KERNEL_X_SPLAT : KERNEL_Y_SPLAT;
		else flat = false;
	}
	if (UNLIKELY(!same_shapes(t, n_in))) return fail_internal(f, s, "operands of different shapes");
	Tensor *out = result_tensor(f, s, first, t[0]);
	if (UNLIKELY(!out)) return ST_NOMEM;
	Status st = flat && out->count <= PART ? run_short(f, s, n_in, t, splats, out)
	                                       : run_long(f, s, n_in, t, out);
	if (UNLIKELY(st != ST_OK)) {
		tensor_unref(out);
		return st;
	}
	put_owned(f, s->d, out);
	return ST_OK;
}

Status eval_elementwise1(Frame *f, const Step *s) { return run_elementwise(f, s, 1); }

Status eval_elementwise2(Frame *f, const Step *s) { return run_elementwise(f, s, 2); }

Status eval_SELECT(Frame *f, const Step *s) {
	const Value *c = operand_at(f, s->a);
	if (s->out_rank) return run_elementwise(f, s, 3);
	f->slots[s->d] = *operand_at(f, c->b ? s->b : s->c);
	return ST_OK;
}

Status eval_CONVERT(Frame *f, const Step *s) {
	const Value *v = operand_at(f, s->a);
	Dtype to = (Dtype)s->out_dtype;
	if (v->kind == V_SCALAR) {
		char bytes[16];
		scalar_convert((Dtype)v->dtype, value_scalar_bytes(v), to, bytes);
		put_scalar(f, s->d, to, bytes);
		return ST_OK;
	}
	const Tensor *x = v->tensor;
	if (x->dtype == to) {
		f->slots[s->d] = take_operand(f, s, 0);
		return ST_OK;
	}
	Tensor *out = tensor_new(f->ctx, to, x->rank, x->shape);
	if (!out) return ST_NOMEM;
	if (!x->contiguous) {
		tensor_convert_into(out, x);
		put_owned(f, s->d, out);
		return spend(f->be, (uint64_t)x->count);
	}
	for (int64_t at = 0; at < x->count; at += PART) {
		int64_t n = x->count - at < PART ? x->count - at : PART, stride = 1;
		Tensor from = part_of(x, 1, &n, &stride, at), into = part_of(out, 1, &n, &stride, at);
		tensor_convert_into(&into, &from);
		Status st = spend(f->be, (uint64_t)n);
		if (st != ST_OK) {
			tensor_unref(out);
			return st;
		}
	}
	put_owned(f, s->d, out);
	return ST_OK;
}

Status eval_STOP(Frame *f, const Step *s) {
	f->slots[s->d] = take_operand(f, s, 0);
	return ST_OK;
}

Status eval_SOLVED(Frame *f, const Step *s) {
	f->slots[s->d] = take_operand(f, s, 4);
	return ST_OK;
}
