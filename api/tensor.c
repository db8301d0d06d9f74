/* tensor.c - tensors of the host: new, wrapped, viewed, and through DLPack.
 *
 * Needs: api.h, lang/base/tensor.h.
 *
 * Contract:
 * - A handle is the tensor itself, with an atomic reference count. It may cross
 *   threads and outlive its context.
 * - Programs never write wrapped memory. Only results may be written to it.
 */
#include "api/api.h"

typedef struct Wrap { /* further data of a wrapped buffer */
	HeapAccount *account;
	bool writable;
	void (*release)(void *ud, void *data);
	void *ud;
} Wrap;

static void wrap_release(void *ud, void *data) {
	Wrap w = *(Wrap *)ud;
	account_free(w.account, ud, sizeof w);
	if (w.release) w.release(w.ud, data);
}

bool tensor_writable(const Tensor *t) {
	if (t->buffer->release == wrap_release) return ((const Wrap *)t->buffer->release_ud)->writable;
	return tensor_is_unshared(t);
}

/* The range from the first byte to after the last element. */
static void reach(const Tensor *t, const char **low, const char **high) {
	int64_t before = 0, after = 0;
	for (uint32_t i = 0; i < t->rank; i++) {
		int64_t r = t->shape[i] ? t->stride[i] * (t->shape[i] - 1) : 0;
		if (r < 0) before += r;
		else after += r;
	}
	int64_t size = (int64_t)dtype_size((Dtype)t->dtype);
	*low = t->data + before * size;
	*high = t->data + (after + 1) * size;
}

bool tensor_meets(const Tensor *x, const Tensor *y) {
	if (!x->count || !y->count) return false;
	const char *a, *b, *p, *q;
	reach(x, &a, &b);
	reach(y, &p, &q);
	return a < q && p < b;
}

bool tensor_move_into(Ctx *c, Tensor *dst, Tensor *src) {
	if (!src->count) return true;
	if (tensor_meets(dst, src)) {
		Tensor *copy = tensor_copy(c, src);
		if (!copy) return false;
		tensor_assign(dst, copy);
		tensor_unref(copy);
	} else tensor_assign(dst, src);
	return true;
}

/* ---- construction -------------------------------------------------------- */

typedef struct Make {
	atled_dtype dtype;
	uint32_t rank;
	const int64_t *shape, *strides;
	void *data;
	bool writable, wrap;
	void (*release)(void *ud, void *data);
	void *ud;
	Tensor *out;
} Make;

static void make_body(Ctx *c, void *arg) {
	Make *m = arg;
	if ((unsigned)m->dtype >= DT_COUNT) api_misuse(c, "there is no dtype number %d", (int)m->dtype);
	if (m->rank > MAX_RANK)
		api_misuse(c, "an array has at most %d axes, not %u", MAX_RANK, m->rank);
	if (m->rank && !m->shape) api_misuse(c, "the shape is missing");
	int64_t count = 1;
	for (uint32_t i = 0; i < m->rank; i++) {
		if (m->shape[i] < 0) api_misuse(c, "a length cannot be %lld", (long long)m->shape[i]);
		if (__builtin_mul_overflow(count, m->shape[i], &count)) count = INT64_MAX;
	}
	if (!m->wrap) {
		m->out = tensor_zeros(c, (Dtype)m->dtype, m->rank, m->shape);
		if (!m->out) ctx_throw(c, ST_NOMEM);
		return;
	}
	if (!m->data && count) api_misuse(c, "there is no memory to wrap");
	Wrap *w = account_alloc(heap_account(c), sizeof *w);
	if (!w) ctx_throw(c, ST_NOMEM);
	*w = (Wrap){heap_account(c), m->writable, m->release, m->ud};
	m->out = tensor_wrap(c, (Dtype)m->dtype, m->rank, m->shape, m->strides, m->data, true,
	                     wrap_release, w);
	if (!m->out) {
		account_free(heap_account(c), w, sizeof *w);
		ctx_throw(c, ST_NOMEM);
	}
}

static atled_status make(atled_context *x, const char *call, Make *m, atled_tensor **out) {
	if (!out) return api_refuse(x, call, "out is NULL");
	atled_status st = api_run(x, ENTER_CALLBACK, make_body, m);
	*out = st == ATLED_OK ? tensor_handle(m->out) : NULL;
	return st;
}

atled_status atled_tensor_new(atled_context *x, atled_dtype dtype, uint32_t rank,
                              const int64_t *shape, atled_tensor **out) {
	Make m = {.dtype = dtype, .rank = rank, .shape = shape};
	return make(x, __func__, &m, out);
}

atled_status atled_tensor_wrap(atled_context *x, atled_dtype dtype, uint32_t rank,
                               const int64_t *shape, const int64_t *strides, void *data,
                               atled_wrap_mode mode, void (*release)(void *ud, void *data),
                               void *ud, atled_tensor **out) {
	Make m = {.dtype = dtype,
	          .rank = rank,
	          .shape = shape,
	          .strides = strides,
	          .data = data,
	          .wrap = true,
	          .release = release,
	          .ud = ud};
	m.writable = mode == ATLED_WRITABLE;
	return make(x, __func__, &m, out);
}

atled_tensor *atled_tensor_copy(const atled_tensor *t) {
	return t ? tensor_handle(tensor_ref(tensor_of(t))) : NULL;
}

void atled_tensor_free(atled_tensor *t) { tensor_unref(tensor_of(t)); }

atled_status atled_tensor_view(const atled_tensor *handle, atled_array *view) {
	if (!handle || !view || view->size < sizeof view->size) return ATLED_MISUSE;
	const Tensor *t = tensor_of(handle);
	atled_array a = {
		.dtype = (atled_dtype)t->dtype, .rank = t->rank, .shape = t->shape, .strides = t->stride};
	a.data = t->data;
	a.count = t->count;
	a.writable = tensor_writable(t);
	a.size = view->size < sizeof a ? view->size : sizeof a;
	memcpy(view, &a, a.size);
	return ATLED_OK;
}

/* ---- DLPack -------------------------------------------------------------- */

typedef struct TensorExport {
	DLManagedTensor dl;
	HeapAccount *account;
	Tensor *t;
} TensorExport;

static void export_delete(DLManagedTensor *dl) {
	if (!dl) return;
	TensorExport e = *(TensorExport *)dl->manager_ctx;
	tensor_unref(e.t);
	account_free(e.account, dl->manager_ctx, sizeof e);
}

static DLDataType dl_type(Dtype d) {
	static const DLDataType types[DT_COUNT] = {{6, 8, 1},  {0, 32, 1}, {0, 64, 1}, {2, 32, 1},
	                                           {2, 64, 1}, {5, 64, 1}, {5, 128, 1}};
	return types[d];
}

typedef struct Exchange {
	Tensor *t;
	TensorExport *out;
	DLManagedTensor *dl;
} Exchange;

static void export_body(Ctx *c, void *arg) {
	Exchange *e = arg;
	HeapAccount *account = heap_account(c);
	e->out = account_alloc(account, sizeof *e->out);
	if (!e->out) ctx_throw(c, ST_NOMEM);
	Tensor *t = tensor_ref(e->t);
	*e->out = (TensorExport){.account = account, .t = t};
	e->out->dl = (DLManagedTensor){.manager_ctx = e->out, .deleter = export_delete};
	e->out->dl.dl_tensor = (DLTensor){
		.data = t->data, .device = {1, 0}, .ndim = t->rank, .dtype = dl_type((Dtype)t->dtype)};
	e->out->dl.dl_tensor.shape = t->shape;
	e->out->dl.dl_tensor.strides = t->stride;
}

atled_status atled_tensor_to_dlpack(atled_context *x, const atled_tensor *t,
                                    struct DLManagedTensor **out) {
	if (out) *out = NULL;
	API_WANT(x, t, "t is NULL");
	API_WANT(x, out, "out is NULL");
	Exchange e = {.t = tensor_of(t)};
	atled_status st = api_run(x, ENTER_CALLBACK, export_body, &e);
	*out = st == ATLED_OK ? &e.out->dl : NULL;
	return st;
}

static void import_release(void *ud, void *data) {
	(void)data;
	DLManagedTensor *dl = ud;
	if (dl->deleter) dl->deleter(dl);
}

static void import_body(Ctx *c, void *arg) {
	Exchange *e = arg;
	const DLTensor *d = &e->dl->dl_tensor;
	if (d->device.device_type != 1)
		api_misuse(c, "a DLPack tensor on device %d: only the processor's memory (1) is known",
		           (int)d->device.device_type);
	int dtype = 0;
	while (dtype < DT_COUNT && (dl_type((Dtype)dtype).code != d->dtype.code ||
	                            dl_type((Dtype)dtype).bits != d->dtype.bits))
		dtype++;
	if (dtype == DT_COUNT || d->dtype.lanes != 1)
		api_misuse(c, "a DLPack tensor of code %d with %d bits and %d lanes", d->dtype.code,
		           d->dtype.bits, d->dtype.lanes);
	if (d->ndim < 0 || d->ndim > MAX_RANK)
		api_misuse(c, "a DLPack tensor of %d axes", (int)d->ndim);
	Make m = {.dtype = (atled_dtype)dtype,
	          .rank = (uint32_t)d->ndim,
	          .shape = d->shape,
	          .strides = d->strides,
	          .wrap = true};
	m.data = d->data ? (char *)d->data + d->byte_offset : NULL;
	m.release = import_release;
	m.ud = e->dl;
	make_body(c, &m);
	e->t = m.out;
}

atled_status atled_tensor_from_dlpack(atled_context *x, struct DLManagedTensor *dl,
                                      atled_tensor **out) {
	if (out) *out = NULL;
	API_WANT(x, dl, "dl is NULL");
	API_WANT(x, out, "out is NULL");
	Exchange e = {.dl = dl};
	atled_status st = api_run(x, ENTER_CALLBACK, import_body, &e);
	*out = st == ATLED_OK ? tensor_handle(e.t) : NULL;
	return st;
}
