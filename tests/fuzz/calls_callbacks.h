/* calls_callbacks.h - the host's side of the fuzz target `calls`.
 *
 * Host functions, functions on values, objects that the library releases, and
 * tensors on memory of the host.
 */
#ifndef ATLED_TESTS_FUZZ_CALLS_CALLBACKS_H
#define ATLED_TESTS_FUZZ_CALLS_CALLBACKS_H

#include "tests/fuzz/calls_world.h"

/* Makes the next call of the input. Callbacks make some as well. */
static void one_call(void);

static void nested_calls(void) {
	if (w.depth >= DEPTH_MOST) return;
	w.depth++;
	for (uint32_t n = take_below(4); n > 0 && w.at < w.end; n--) one_call();
	w.depth--;
}

/* ---- arrays -------------------------------------------------------------- */

static size_t dtype_bytes(atled_dtype d) {
	static const size_t of[] = {1, 4, 8, 4, 8, 8, 16};
	return of[d];
}

/* Reads or fills the elements of a contiguous array. */
static void read_array(const atled_array *a) {
	if (a->rank > ATLED_MAX_RANK || (unsigned)a->dtype > ATLED_C128) abort();
	if (a->data) world_sink(NULL, a->data, (size_t)a->count * dtype_bytes(a->dtype));
}

static void fill_array(const atled_array *a, uint8_t how) {
	if (!a->data) return;
	unsigned char *to = a->data;
	const size_t n = (size_t)a->count * dtype_bytes(a->dtype);
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)(a->dtype == ATLED_BOOL ? how & 1 : (how + i * (how >> 4)));
}

/* ---- host functions ------------------------------------------------------ */

typedef struct HostKind {
	const char *name, *type;
	uint32_t nin, nout; /* both 0: the type is not known here */
} HostKind;

static const HostKind host_kinds[] = {{"h", "(f64[n]) -> f64[n]", 1, 1},
                                      {"h", "(f64) -> f64", 1, 1},
                                      {"h2", "(f64[n], f64) -> (f64, f64[n + 1])", 2, 2},
                                      {"hb", "(bool[n], i32, c128[n]) -> c128[n]", 3, 1},
                                      {"h", "(f64[n, m]) -> f64[m, n]", 2, 1},
                                      {"hi", "() -> i64", 0, 1}};
enum { HOST_KINDS = sizeof host_kinds / sizeof *host_kinds };

/* Reads what the library gives to a host function, fills what it wants, and
 * makes calls between the two. */
static int host_works(atled_context *ctx, uint32_t nread, const atled_array *const *read,
                      const uint32_t *reads, uint32_t nout, atled_array *out) {
	for (uint32_t i = 0; i < nread; i++)
		for (uint32_t k = 0; k < reads[i]; k++) read_array(&read[i][k]);
	nested_calls();
	const uint8_t how = take();
	for (uint32_t k = 0; k < nout; k++) fill_array(&out[k], how);
	if (how < 240) return 0;
	if (how < 250) atled_raise(ctx, how & 1 ? "the host failed" : NULL);
	else atled_write(ctx, "written", 7);
	return how & 1;
}

static int host_value(void *ud, atled_context *ctx, const atled_array *in, atled_array *out) {
	const HostKind *h = *(const HostKind *const *)ud;
	return h ? host_works(ctx, 1, (const atled_array *[]){in}, &h->nin, h->nout, out) : 1;
}

static int host_jvp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                    const atled_array *dx, atled_array *out) {
	const HostKind *h = *(const HostKind *const *)ud;
	if (!h) return 1;
	return host_works(ctx, 3, (const atled_array *[]){in, y, dx},
	                  (const uint32_t[]){h->nin, h->nout, h->nin}, h->nout, out);
}

static int host_vjp(void *ud, atled_context *ctx, const atled_array *in, const atled_array *y,
                    const atled_array *dy, atled_array *out) {
	const HostKind *h = *(const HostKind *const *)ud;
	if (!h) return 1;
	return host_works(ctx, 3, (const atled_array *[]){in, y, dy},
	                  (const uint32_t[]){h->nin, h->nout, h->nout}, h->nin, out);
}

static atled_status native(void *ud, atled_context *ctx, uint32_t nargs,
                           const atled_value *const *args, atled_value **result) {
	for (uint32_t i = 0; i < nargs; i++)
		if (atled_value_write(args[i], NULL, 2, world_sink, ud) == ATLED_INTERNAL) abort();
	nested_calls();
	const uint8_t how = take();
	switch (how % 8) {
	case 0: return ATLED_OK;
	case 1: *result = atled_value_copy(take_value()); return ATLED_OK;
	case 2: return how & 32 ? ATLED_LIMIT : ATLED_DENIED;
	case 3: atled_raise(ctx, "the host refuses"); return ATLED_ERROR;
	case 4:
		*result = atled_value_of_f64(ctx, how);
		return how & 32 ? ATLED_NOMEM : how & 64 ? ATLED_INTERRUPTED : ATLED_OK;
	default: *result = nargs ? atled_value_copy(args[how % nargs]) : NULL; return ATLED_OK;
	}
}

/* ---- memory of the host as tensors --------------------------------------- */

enum { WRAPPED_BYTES = 1024, SHAPE_MOST = 3 };

static void release_wrapped(void *ud, void *data) {
	(void)data;
	object_free(ud);
}

/* Takes a dtype and a shape; both may be invalid. Only then has the shape more
 * than SHAPE_MOST axes. */
static atled_dtype take_shape(uint32_t *rank, int64_t shape[ATLED_MAX_RANK + 1]) {
	const uint8_t b = take();
	*rank = b >= 250 ? ATLED_MAX_RANK + 1 : b % (SHAPE_MOST + 1);
	for (uint32_t i = 0; i <= ATLED_MAX_RANK; i++) {
		const uint8_t extent = i < *rank && i < SHAPE_MOST ? take() : 1;
		shape[i] = extent == 255 ? -1 : extent % 4;
	}
	return (atled_dtype)take_below(ATLED_C128 + 2);
}

/* Strides that stay inside WRAPPED_BYTES around the middle. */
static void take_strides(int64_t strides[ATLED_MAX_RANK + 1]) {
	for (uint32_t i = 0; i <= ATLED_MAX_RANK; i++)
		strides[i] = i < SHAPE_MOST ? (int64_t)take_below(8) - 4 : 1;
}

static void wrap_tensor(uint32_t k) {
	uint32_t rank;
	int64_t shape[ATLED_MAX_RANK + 1], strides[ATLED_MAX_RANK + 1];
	const atled_dtype d = take_shape(&rank, shape);
	const uint8_t how = take();
	if (how & 1) take_strides(strides);
	char *block = object_new(WRAPPED_BYTES), *data = how & 2 ? NULL : block + WRAPPED_BYTES / 2;
	atled_tensor *t = NULL;
	if (right(k, atled_tensor_wrap(w.ctx[k], d, rank, shape, how & 1 ? strides : NULL, data,
	                               how & 4 ? ATLED_WRITABLE : ATLED_READ_ONLY, release_wrapped,
	                               block, &t))) {
		if (!t) abort();
		keep_tensor(t);
		return;
	}
	if (t) abort();
	object_free(block);
}

typedef struct Imported {
	DLManagedTensor dl; /* first: the deleter frees it as this */
	int64_t shape[ATLED_MAX_RANK + 1], strides[ATLED_MAX_RANK + 1];
	_Alignas(16) char data[WRAPPED_BYTES];
} Imported;

static void delete_imported(DLManagedTensor *dl) { object_free(dl->manager_ctx); }

static void import_tensor(uint32_t k) {
	static const DLDataType types[] = {{2, 64, 1}, {0, 64, 1}, {5, 128, 1}, {6, 8, 1},
	                                   {2, 16, 1}, {2, 64, 2}, {1, 8, 1}};
	Imported *own = object_new(sizeof *own);
	uint32_t rank;
	take_shape(&rank, own->shape);
	take_strides(own->strides);
	const uint8_t how = take();
	own->dl = (DLManagedTensor){.manager_ctx = own, .deleter = delete_imported};
	own->dl.dl_tensor = (DLTensor){.data = own->data,
	                               .device = {how & 1 ? 2 : 1, 0},
	                               .ndim = how & 2 ? -1 : (int32_t)rank,
	                               .dtype = types[take_below(sizeof types / sizeof *types)],
	                               .shape = own->shape,
	                               .strides = how & 4 ? own->strides : NULL,
	                               .byte_offset = WRAPPED_BYTES / 2};
	atled_tensor *t = NULL;
	if (right(k, atled_tensor_from_dlpack(w.ctx[k], &own->dl, &t))) keep_tensor(t);
	else object_free(own);
}

#endif
