/* test_values.c - unit tests of tensors, values and strings.
 *
 * Covers lifetime, views, copies, conversions and printing.
 * Oracle: values worked out by hand, or by a slower independent method in this
 * file.
 *
 * Needs: the lang/ objects context, arena, diag, type, tensor, value and text
 * only.
 * Guarantees: exit status 0 when every check holds; the last line counts the
 * checks.
 */
#include "tests/unit/base/help.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>

/* ---- tensors ------------------------------------------------------------- */

static Tensor *iota(Ctx *c, Dtype dtype, uint32_t rank, const int64_t *shape) {
	Tensor *t = tensor_new(c, DT_F64, rank, shape), *r = tensor_new(c, dtype, rank, shape);
	for (int64_t i = 0; i < t->count; i++) ((double *)t->data)[i] = (double)i;
	tensor_convert_into(r, t);
	tensor_unref(t);
	return r;
}

static void count_release(void *ud, void *data) {
	(void)data;
	++*(int *)ud;
}

static void test_tensor_life(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	size_t before = heap_used(c);
	int64_t shape[] = {3, 5};
	Tensor *t = tensor_zeros(c, DT_F64, 2, shape);
	CHECK(((uintptr_t)t->data & 63) == 0 && t->buffer->bytes == 128 && t->count == 15 &&
	      t->contiguous && !t->read_only);
	CHECK(t->stride[0] == 5 && t->stride[1] == 1);
	bool zero = true;
	for (int i = 0; i < 128; i++) zero &= t->data[i] == 0;
	CHECK(zero && heap_used(c) > before + 128);
	Tensor *u = tensor_new(c, DT_BOOL, 1, (int64_t[]){3});
	CHECK(u->data[3] == 0 && u->data[63] == 0 && u->buffer->bytes == 64);
	CHECK(tensor_is_unshared(t));
	Tensor *again = tensor_ref(t);
	CHECK(again == t && !tensor_is_unshared(t));
	tensor_unref(again);
	tensor_unref(NULL);

	CHECK(!tensor_new(c, DT_F64, 2, (int64_t[]){INT64_MAX, 2}) &&
	      !tensor_new(c, DT_F64, 1, (int64_t[]){-1}));
	CHECK(!tensor_new(c, DT_F64, 1, (int64_t[]){INT64_MAX / 8}) &&
	      !tensor_new(c, DT_F64, 9, (int64_t[9]){0}));
	CHECK(!tensor_new(c, DT_F64, 3, (int64_t[]){0, INT64_MAX, 4}));
	Tensor *empty = tensor_new(c, DT_F32, 2, (int64_t[]){0, 4}),
		   *scalar = tensor_new(c, DT_C128, 0, NULL);
	CHECK(empty->count == 0 && empty->contiguous && scalar->count == 1 && scalar->contiguous);
	tensor_unref(empty);
	tensor_unref(scalar);

	Tensor *view = tensor_view(c, t, 2, (int64_t[]){5, 3}, (int64_t[]){1, 5}, 0);
	CHECK(!view->contiguous && view->buffer == t->buffer && !tensor_is_unshared(t) &&
	      !tensor_is_unshared(view));
	tensor_unref(t);
	CHECK(tensor_is_unshared(view)); /* a transpose still refers to each element once */
	Tensor *gaps = tensor_view(c, view, 3, (int64_t[]){2, 2, 2}, (int64_t[]){1, 8, -2}, 2);
	tensor_unref(view);
	CHECK(tensor_is_unshared(gaps) && !gaps->contiguous);
	view = tensor_view(c, gaps, 2, (int64_t[]){5, 3}, (int64_t[]){1, 5}, -2);
	tensor_unref(gaps);
	Tensor *broadcast = tensor_view(c, view, 2, (int64_t[]){7, 3}, (int64_t[]){0, 5}, 1);
	tensor_unref(view);
	CHECK(!tensor_is_unshared(broadcast) && broadcast->data == (char *)broadcast->buffer->data + 8);
	Tensor *windows = tensor_view(c, broadcast, 2, (int64_t[]){4, 3}, (int64_t[]){1, 1}, 0);
	tensor_unref(broadcast);
	CHECK(!tensor_is_unshared(windows) && !windows->contiguous);
	CHECK(!tensor_view(c, windows, 2, (int64_t[]){INT64_MAX, 4}, (int64_t[]){0, 0}, 0));
	tensor_unref(windows);

	double memory[6] = {1, 2, 3, 4, 5, 6};
	int released = 0;
	Tensor *w =
		tensor_wrap(c, DT_F64, 2, (int64_t[]){2, 3}, NULL, memory, false, count_release, &released);
	CHECK(w->data == (char *)memory && w->contiguous && tensor_is_unshared(w));
	Tensor *row = tensor_view(c, w, 1, (int64_t[]){3}, (int64_t[]){1}, 3);
	tensor_unref(w);
	CHECK(released == 0 && tensor_get(row, (int64_t[]){2}) == 6);
	tensor_unref(row);
	CHECK(released == 1);
	w = tensor_wrap(c, DT_F64, 1, (int64_t[]){3}, (int64_t[]){-2}, memory + 4, true, NULL, NULL);
	CHECK(!tensor_is_unshared(w) && tensor_get(w, (int64_t[]){2}) == 1 && w->read_only);
	row = tensor_view(c, w, 1, (int64_t[]){2}, (int64_t[]){-2}, 0);
	CHECK(row->read_only);
	tensor_unref(row);
	tensor_unref(w);
	CHECK(!tensor_wrap(c, DT_F64, 1, (int64_t[]){3}, (int64_t[]){INT64_MAX}, memory, false,
	                   count_release, &released));
	for (uint64_t n = 1; n <= 2; n++) {
		heap_fail_at(c, n, false);
		CHECK(!tensor_wrap(c, DT_F64, 1, (int64_t[]){3}, NULL, memory, false, count_release,
		                   &released));
	}
	CHECK(released == 1);
	heap_fail_at(c, 0, false);

	Tensor *outlives = tensor_copy(c, u);
	tensor_unref(u);
	ctx_free(c);
	CHECK(k.blocks > 0);
	Tensor *other = tensor_view(NULL, outlives, 1, (int64_t[]){2}, (int64_t[]){1}, 1);
	tensor_unref(outlives);
	tensor_unref(other);
	CHECK(k.blocks == 0 && !k.wrong);
}

static void *use_tensor(void *arg) {
	Tensor *t = arg;
	for (int i = 0; i < 10000; i++) tensor_unref(tensor_ref(t));
	tensor_unref(t);
	return NULL;
}

static void test_tensor_threads(void) {
	Ctx *c = ctx_new(NULL);
	Tensor *t = tensor_zeros(c, DT_F64, 1, (int64_t[]){1000});
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use_tensor, tensor_ref(t));
	tensor_unref(t);
	ctx_free(c);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	CHECK(true); /* it has not crashed */
}

typedef struct WalkLog {
	int calls;
	int64_t elements, run;
	double sum, weighted;
} WalkLog;

static void log_walk(void *ud, int64_t n, char **ptr, const int64_t *stride) {
	WalkLog *w = ud;
	w->calls++;
	w->run = n;
	for (int64_t i = 0; i < n; i++) {
		double x = *(double *)(ptr[0] + i * stride[0]);
		w->sum += x;
		w->weighted += x * *(double *)(ptr[1] + i * stride[1]);
		w->elements++;
	}
}

static void test_walk(void) {
	Ctx *c = ctx_new(NULL);
	int64_t shape[] = {3, 4, 5};
	Tensor *t = iota(c, DT_F64, 3, shape);
	WalkLog w = {0};
	tensor_walk(2, (Tensor *[]){t, t}, log_walk, &w);
	CHECK(w.calls == 1 && w.elements == 60 && w.sum == 59 * 60 / 2);
	/* The same transpose of two contiguous tensors is one contiguous run.
	 * Paired with a row-major tensor it is not. */
	Tensor *p = tensor_view(c, t, 3, (int64_t[]){5, 3, 4}, (int64_t[]){1, 20, 5}, 0);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){p, p}, log_walk, &w);
	CHECK(w.calls == 1 && w.elements == 60 && w.sum == 1770);
	Tensor *d = iota(c, DT_F64, 3, p->shape);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){p, d}, log_walk, &w);
	double want = 0;
	for (int64_t i = 0; i < 5; i++) {
		for (int64_t j = 0; j < 3; j++) {
			for (int64_t k = 0; k < 4; k++)
				want += (double)((i * 3 + j) * 4 + k) * (double)(i + j * 20 + k * 5);
		}
	}
	CHECK(w.weighted == want && w.elements == 60 && w.calls == 5 && w.run == 12);
	Tensor *b = tensor_view(c, t, 3, shape, (int64_t[]){0, 0, 1}, 0);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){b, t}, log_walk, &w);
	CHECK(w.sum == 12 * 10 && w.calls == 12);
	Tensor *back = tensor_view(c, t, 1, (int64_t[]){60}, (int64_t[]){-1}, 59);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){back, back}, log_walk, &w);
	CHECK(w.calls == 1 && w.sum == 1770);
	Tensor *ones = tensor_view(c, t, 3, (int64_t[]){1, 1, 1}, (int64_t[]){7, 8, 9}, 2);
	CHECK(ones->contiguous);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){ones, ones}, log_walk, &w);
	CHECK(w.calls == 1 && w.sum == 2);
	Tensor *empty = tensor_view(c, t, 2, (int64_t[]){0, 3}, (int64_t[]){1, 1}, 0);
	w = (WalkLog){0};
	tensor_walk(2, (Tensor *[]){empty, empty}, log_walk, &w);
	tensor_walk(0, NULL, log_walk, &w);
	CHECK(w.calls == 0);
	/* Each view of a 4-D box (axis order, start, step, direction) is compared
	 * with element-wise reads. */
	Tensor *box = iota(c, DT_I32, 4, (int64_t[]){4, 3, 2, 5});
	bool right = true;
	for (int order = 0; order < 24; order++) {
		int axes[4], left[4] = {0, 1, 2, 3}, code = order;
		for (int i = 0; i < 4; i++) {
			int at = code % (4 - i);
			code /= 4 - i;
			axes[i] = left[at];
			for (int j = at; j < 3 - i; j++) left[j] = left[j + 1];
		}
		int64_t s[4], st[4], offset = 0;
		for (int i = 0; i < 4; i++) {
			s[i] = box->shape[axes[i]];
			st[i] = box->stride[axes[i]];
			if (order >> i & 1) {
				offset += st[i] * (s[i] - 1);
				st[i] = -st[i];
			}
		}
		Tensor *v = tensor_view(c, box, 4, s, st, offset), *flat = tensor_contiguous(c, v);
		for (int64_t i = 0; i < 120; i++) {
			int64_t index[4] = {i / (s[1] * s[2] * s[3]), i / (s[2] * s[3]) % s[1], i / s[3] % s[2],
			                    i % s[3]};
			right &= tensor_get(flat, index) == tensor_get(v, index) &&
			         ((int32_t *)flat->data)[i] == tensor_get(v, index);
		}
		tensor_unref(flat);
		tensor_unref(v);
	}
	CHECK(right);
	Tensor *all[] = {t, p, d, b, back, ones, empty, box};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
	ctx_free(c);
}

static void test_copies(void) {
	Ctx *c = ctx_new(NULL);
	const Dtype dtypes[] = {DT_BOOL, DT_I32, DT_F64, DT_C128};
	for (int i = 0; i < 4; i++) {
		Tensor *t = iota(c, dtypes[i], 2, (int64_t[]){4, 6});
		Tensor *v = tensor_view(c, t, 2, (int64_t[]){3, 4}, (int64_t[]){2, 6}, 1),
			   *copy = tensor_contiguous(c, v);
		CHECK(copy != v && copy->contiguous && tensor_same_shape(copy, v) &&
		      !tensor_same_shape(copy, t));
		bool same = true;
		for (int64_t r = 0; r < 3; r++) {
			for (int64_t q = 0; q < 4; q++)
				same &= tensor_get(copy, (int64_t[]){r, q}) == tensor_get(v, (int64_t[]){r, q});
		}
		CHECK(same);
		Tensor *zeros = tensor_zeros(c, dtypes[i], 2, v->shape);
		tensor_assign(v, zeros);
		CHECK(tensor_get(t, (int64_t[]){0, 1}) == 0 &&
		      tensor_get(t, (int64_t[]){1, 2}) == (i ? 8 : 1));
		Tensor *self = tensor_contiguous(c, t);
		CHECK(self == t);
		Tensor *all[] = {t, t, v, copy, zeros};
		for (int k = 0; k < 5; k++) tensor_unref(all[k]);
	}
	ctx_free(c);
}

static void test_convert(void) {
	Ctx *c = ctx_new(NULL);
	/* Each pair of dtypes, contiguous and strided, with values that every dtype
	 * except bool represents. */
	for (int from = 0; from < DT_COUNT; from++) {
		Tensor *source = iota(c, (Dtype)from, 1, (int64_t[]){7});
		Tensor *reversed = tensor_view(c, source, 1, (int64_t[]){7}, (int64_t[]){-1}, 6);
		for (int to = 0; to < DT_COUNT; to++) {
			Tensor *a = tensor_new(c, (Dtype)to, 1, (int64_t[]){7}),
				   *b = tensor_new(c, (Dtype)to, 1, (int64_t[]){7});
			tensor_convert_into(a, source);
			tensor_convert_into(b, reversed);
			bool right = true;
			for (int64_t i = 0; i < 7; i++) {
				double want = from == DT_BOOL || to == DT_BOOL ? i != 0 : (double)i;
				right &= tensor_get(a, (int64_t[]){i}) == want &&
				         tensor_get(b, (int64_t[]){6 - i}) == want;
			}
			CHECK(right);
			tensor_unref(a);
			tensor_unref(b);
		}
		tensor_unref(reversed);
		tensor_unref(source);
	}
	double hard[] = {NAN,  INFINITY,     -INFINITY,     1e30,   -1e30,   2.9,
	                 -2.9, 2147483647.5, -2147483648.5, 0x1p63, -0x1p63, -0.0};
	enum { N = sizeof hard / sizeof *hard };
	const int32_t want32[N] = {0,  INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 2,
	                           -2, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0};
	const int64_t want64[N] = {0,  INT64_MAX,  INT64_MIN,   INT64_MAX, INT64_MIN, 2,
	                           -2, 2147483647, -2147483648, INT64_MAX, INT64_MIN, 0};
	const bool want_bool[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
	Tensor *h = tensor_wrap(c, DT_F64, 1, (int64_t[]){N}, NULL, hard, true, NULL, NULL);
	Tensor *i32 = tensor_new(c, DT_I32, 1, (int64_t[]){N}),
		   *i64 = tensor_new(c, DT_I64, 1, (int64_t[]){N});
	Tensor *b = tensor_new(c, DT_BOOL, 1, (int64_t[]){N}),
		   *f32 = tensor_new(c, DT_F32, 1, (int64_t[]){N});
	tensor_convert_into(i32, h);
	tensor_convert_into(i64, h);
	tensor_convert_into(b, h);
	CHECK(!memcmp(i32->data, want32, sizeof want32) && !memcmp(i64->data, want64, sizeof want64));
	CHECK(!memcmp(b->data, want_bool, sizeof want_bool));
	tensor_convert_into(f32, h);
	tensor_convert_into(i32, f32);
	CHECK(((int32_t *)i32->data)[0] == 0 && ((int32_t *)i32->data)[3] == INT32_MAX &&
	      ((int32_t *)i32->data)[6] == -2);
	tensor_convert_into(i64, f32);
	CHECK(((int64_t *)i64->data)[9] == INT64_MAX && ((int64_t *)i64->data)[10] == INT64_MIN);
	int64_t exact[] = {INT64_MAX, INT64_MIN, (INT64_C(1) << 53) + 1, 5};
	Tensor *e = tensor_wrap(c, DT_I64, 1, (int64_t[]){4}, NULL, exact, true, NULL, NULL),
		   *narrow = tensor_new(c, DT_I32, 1, e->shape);
	tensor_convert_into(narrow, e);
	const int32_t want_narrow[] = {INT32_MAX, INT32_MIN, INT32_MAX, 5};
	CHECK(!memcmp(narrow->data, want_narrow, sizeof want_narrow));
	double _Complex z[] = {3.5 - 2.0 * I, 2.0 * I};
	Tensor *zt = tensor_wrap(c, DT_C128, 1, (int64_t[]){2}, NULL, z, true, NULL, NULL);
	Tensor *zf = tensor_new(c, DT_F64, 1, zt->shape), *zb = tensor_new(c, DT_BOOL, 1, zt->shape),
		   *z64 = tensor_new(c, DT_C64, 1, zt->shape);
	tensor_convert_into(zf, zt);
	tensor_convert_into(zb, zt);
	tensor_convert_into(z64, zt);
	CHECK(((double *)zf->data)[0] == 3.5 && ((double *)zf->data)[1] == 0 && zb->data[1] == 1);
	CHECK(((float *)z64->data)[1] == -2.0f && ((float *)z64->data)[3] == 2.0f);
	Tensor *all[] = {h, i32, i64, b, f32, e, narrow, zt, zf, zb, z64};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
	ctx_free(c);
}

static void test_push_row(void) {
	Ctx *c = ctx_new(NULL);
	size_t before = heap_used(c);
	Tensor *t = tensor_new(c, DT_F64, 2, (int64_t[]){0, 3});
	uint64_t allocations = heap_allocation_count(c);
	for (int64_t i = 0; i < 10000; i++) {
		t = tensor_push_row(c, t);
		for (int k = 0; k < 3; k++) ((double *)t->data)[i * 3 + k] = (double)(i + k);
	}
	CHECK(t->shape[0] == 10000 && t->count == 30000 && t->contiguous &&
	      heap_allocation_count(c) - allocations < 60);
	bool right = true;
	for (int64_t i = 0; i < 10000; i++) right &= ((double *)t->data)[i * 3 + 2] == (double)(i + 2);
	CHECK(right && t->buffer->bytes < 3 * 10000 * 3 * 8);

	Tensor *shared = tensor_ref(t), *grown = tensor_push_row(c, t);
	CHECK(grown != shared && shared->shape[0] == 10000 && grown->shape[0] == 10001 &&
	      grown->data != shared->data);
	CHECK(!memcmp(grown->data, shared->data, 240000));
	tensor_unref(grown);
	Tensor *v = tensor_view(c, shared, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
	v = tensor_push_row(c, v);
	CHECK(v->contiguous && v->shape[0] == 4 && tensor_get(v, (int64_t[]){1, 1}) == 2);
	tensor_unref(v);
	for (int forever = 0; forever < 2; forever++) {
		tensor_ref(shared);
		heap_fail_at(c, 1, forever);
		Tensor *r = tensor_push_row(c, shared);
		heap_fail_at(c, 0, false);
		CHECK((r != NULL) == !forever); /* after one failure, a smaller buffer is allocated */
		tensor_unref(r);
	}
	tensor_unref(shared);
	Tensor *one = tensor_new(c, DT_BOOL, 1, (int64_t[]){1});
	one->data[0] = 1;
	char *data = one->data;
	one = tensor_push_row(c, one);
	CHECK(one->data == data && one->shape[0] == 2); /* the new row uses the padding */
	tensor_unref(one);
	CHECK(!tensor_push_row(c, tensor_new(c, DT_F64, 0, NULL)));
	double memory[2] = {1, 2};
	Tensor *w = tensor_push_row(
		c, tensor_wrap(c, DT_F64, 1, (int64_t[]){1}, NULL, memory, false, NULL, NULL));
	CHECK(w->data != (char *)memory && tensor_get(w, (int64_t[]){0}) == 1 && memory[1] == 2);
	tensor_unref(w);
	CHECK(heap_used(c) == before);
	ctx_free(c);
}

static void test_tensor_failures(void) {
	for (uint64_t n = 1; n < 12; n++) {
		Ctx *c = ctx_new(NULL);
		heap_fail_at(c, n, true);
		Tensor *t = tensor_zeros(c, DT_F64, 2, (int64_t[]){2, 3});
		if (t) {
			Tensor *v = tensor_view(c, t, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
			Tensor *k = v ? tensor_contiguous(c, v) : NULL, *m = tensor_copy(c, t);
			tensor_unref(m);
			tensor_unref(k);
			tensor_unref(v);
			CHECK(tensor_is_unshared(t) && t->shape[0] == 2);
		}
		tensor_unref(t);
		CHECK((t != NULL) == (n > 1)); /* creation makes one allocation */
		ctx_free(c);
	}
}

/* ---- values -------------------------------------------------------------- */

static char printed[4096];

static const char *finish_text(Text *t) {
	snprintf(printed, sizeof printed, "%s", t->at ? t->at : "");
	text_free(t);
	return printed;
}

static const char *print_spec(Ctx *c, Value v, const char *spec, int edge) {
	Text t;
	text_init(&t, c);
	value_print(&t, v, spec, edge);
	return finish_text(&t);
}

static const char *print(Ctx *c, Value v) { return print_spec(c, v, "", 0); }

static Value f32(float x) { return (Value){.kind = V_SCALAR, .dtype = DT_F32, .f32 = x}; }

static void test_print_scalars(void) {
	Ctx *c = ctx_new(NULL);
	static const struct {
		double x;
		const char *text;
	} reals[] = {{2, "2.0"},
	             {-0.0, "-0.0"},
	             {0.1, "0.1"},
	             {0.1 + 0.2, "0.30000000000000004"},
	             {1e20, "1e+20"},
	             {1.0 / 3, "0.3333333333333333"},
	             {123456789, "123456789.0"},
	             {5e-324, "4.94065645841247e-324"},
	             {NAN, "nan"},
	             {-NAN, "nan"},
	             {-INFINITY, "-inf"}};
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		CHECK_TEXT(print(c, value_f64(reals[i].x)), reals[i].text);
	uint64_t seed = 1;
	for (int i = 0; i < 2000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		double x;
		memcpy(&x, &seed, sizeof x);
		if (!isfinite(x)) continue;
		CHECK(strtod(print(c, value_f64(x)), NULL) == x);
		CHECK(strtof(print(c, f32((float)i / 7)), NULL) == (float)i / 7);
	}
	CHECK_TEXT(print(c, f32(0.1f)), "0.1");
	CHECK_TEXT(print(c, f32(16777216)), "16777216.0");
	CHECK_TEXT(print(c, value_i64(INT64_MIN)), "-9223372036854775808");
	CHECK_TEXT(print(c, value_bool(true)), "true");
	CHECK_TEXT(print(c, value_c128(3 + 2 * I)), "3 + 2im");
	CHECK_TEXT(print(c, value_c128(0.1 - 2.5 * I)), "0.1 - 2.5im");
	CHECK_TEXT(print(c, (Value){.kind = V_SCALAR, .dtype = DT_C64, .c64 = 0.1f + 1.0f * I}),
	           "0.1 + 1im");
	CHECK_TEXT(print(c, value_none()), "none");
	CHECK_TEXT(print(c, (Value){.kind = V_TOKEN}), "token");
	CHECK_TEXT(print(c, (Value){0}), "");

	CHECK_TEXT(print_spec(c, value_f64(1234.5), ".3e", 0), "1.234e+03");
	CHECK_TEXT(print_spec(c, value_f64(3.14159), "8.2f", 0), "    3.14");
	CHECK_TEXT(print_spec(c, value_f64(3.14159), "-8.2f", 0), "3.14    ");
	CHECK_TEXT(print_spec(c, value_f64(2.6), "d", 0), "3");
	CHECK_TEXT(print_spec(c, value_f64(-NAN), "+.1f", 0), "+nan");
	CHECK_TEXT(print_spec(c, value_i64(5), ".2f", 0), "5.00");
	CHECK_TEXT(print_spec(c, value_i64(5), "04d", 0), "0005");
	CHECK_TEXT(print_spec(c, value_i64(255), "#x", 0), "0xff");
	CHECK_TEXT(print_spec(c, (Value){.kind = V_SCALAR, .dtype = DT_I32, .i32 = -1}, "x", 0),
	           "ffffffff");
	CHECK_TEXT(print_spec(c, value_bool(true), "3d", 0), "  1");
	CHECK_TEXT(print_spec(c, value_bool(true), "6s", 0), "  true");
	CHECK_TEXT(print_spec(c, value_c128(1 - 2 * I), ".1f", 0), "1.0 - 2.0im");
	static const char *const bad[] = {"n",   "s%n",  "%d", "1000f",          ".1000f",
	                                  "lld", "1000", "*d", "99999999999999f"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CHECK_TEXT(print_spec(c, value_f64(1.5), bad[i], 0), "1.5");
		CHECK(!value_spec_valid(bad[i]));
	}
	CHECK(value_spec_valid("") && value_spec_valid("-8.3e") && value_spec_valid("5") &&
	      value_spec_valid(".3"));
	CHECK_TEXT(print_spec(c, value_f64(1.5), "5", 0), "  1.5");
	CHECK_TEXT(print_spec(c, value_f64(1.23456), ".3", 0), "1.23");
	CHECK(strlen(print_spec(c, value_f64(1e308), "999.999f", 0)) == 309 + 1 + 999);
	CHECK_TEXT(print_spec(c, value_f64(1.5), NULL, 0), "1.5");
	ctx_free(c);
}

static void test_print_tensors(void) {
	Ctx *c = ctx_new(NULL);
	double memory[] = {1, 2.5, -3, 1.0 / 3, NAN, 1e10};
	Tensor *t = tensor_wrap(c, DT_F64, 2, (int64_t[]){2, 3}, NULL, memory, true, NULL, NULL);
	CHECK_TEXT(print(c, value_tensor(t)), "[[1, 2.5, -3], [0.333333, nan, 1e+10]]");
	CHECK_TEXT(print_spec(c, value_tensor(t), ".1f", 0),
	           "[[1.0, 2.5, -3.0], [0.3, nan, 10000000000.0]]");
	Tensor *v = tensor_view(c, t, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0);
	CHECK_TEXT(print(c, value_tensor(v)), "[[1, 0.333333], [2.5, nan], [-3, 1e+10]]");
	Tensor *n = iota(c, DT_I64, 1, (int64_t[]){10}), *m = iota(c, DT_I64, 2, (int64_t[]){5, 5});
	CHECK_TEXT(print(c, value_tensor(n)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
	CHECK_TEXT(print_spec(c, value_tensor(n), "", 2), "[0, 1, ..., 8, 9]");
	CHECK_TEXT(print_spec(c, value_tensor(n), "", 5), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]");
	CHECK_TEXT(print_spec(c, value_tensor(m), "2d", 1), "[[ 0, ...,  4], ..., [20, ..., 24]]");
	Tensor *b = iota(c, DT_BOOL, 1, (int64_t[]){2}), *z = iota(c, DT_C64, 1, (int64_t[]){2});
	CHECK_TEXT(print(c, value_tensor(b)), "[false, true]");
	CHECK_TEXT(print(c, value_tensor(z)), "[0 + 0im, 1 + 0im]");
	Tensor *e = tensor_new(c, DT_F32, 2, (int64_t[]){2, 0}), *s = iota(c, DT_F64, 0, NULL);
	CHECK_TEXT(print(c, value_tensor(e)), "[[], []]");
	CHECK_TEXT(print(c, value_tensor(s)), "0.0");

	Text h;
#define HEADER(x) (text_init(&h, c), value_header(&h, x), finish_text(&h))
	CHECK_TEXT(HEADER(value_tensor(t)), "f64[2, 3]  48 B  min -3  max 1e+10  nan 1");
	CHECK_TEXT(HEADER(value_tensor(n)), "i64[10]  80 B  min 0  max 9");
	CHECK_TEXT(HEADER(value_tensor(b)), "bool[2]  2 B  true 1");
	CHECK_TEXT(HEADER(value_tensor(z)), "c64[2]  16 B  min abs 0  max abs 1  nan 0");
	CHECK_TEXT(HEADER(value_tensor(e)), "f32[2, 0]  0 B");
	CHECK_TEXT(HEADER(value_f64(1)), "f64");
	Tensor *big = tensor_zeros(c, DT_F64, 2, (int64_t[]){64, 64}),
		   *odd = tensor_zeros(c, DT_F64, 1, (int64_t[]){192});
	CHECK_TEXT(HEADER(value_tensor(big)), "f64[64, 64]  32 KB  min 0  max 0  nan 0");
	CHECK_TEXT(HEADER(value_tensor(odd)), "f64[192]  1.5 KB  min 0  max 0  nan 0");

	/* Printing ignores the host's locale. This is checked when a locale with a
	 * decimal comma is installed. */
	const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
	for (int i = 0; i < 3; i++) {
		if (!setlocale(LC_NUMERIC, locales[i])) continue;
		CHECK_TEXT(print(c, value_f64(2.5)), "2.5");
		CHECK_TEXT(print_spec(c, value_tensor(t), ".1f", 1),
		           "[[1.0, ..., -3.0], [0.3, ..., 10000000000.0]]");
		break;
	}
	setlocale(LC_NUMERIC, "C");
	Tensor *all[] = {t, v, n, m, b, z, e, s, big, odd};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) tensor_unref(all[i]);
	ctx_free(c);
}

static void test_containers(void) {
	Counting k = {.fail_after = -1};
	HostAllocator host = {.resize = counting_resize, .ud = &k};
	Ctx *c = ctx_new(&host);
	size_t before = heap_used(c);
	Atom names[] = {atom(c, "W"), atom(c, "b")};
	before = heap_used(c);
	Value w = value_tensor(iota(c, DT_F64, 2, (int64_t[]){2, 2})),
		  s = value_string(c, "a\"b\n\\é\x01", 8);
	Value r = value_record(c, 2, names, (Value[]){w, value_f64(0)});
	Value range = value_range(c, 0, 5, 1), by = value_range(c, 10, 0, -2);
	Value f = value_function(c, V_FUNCTION, 1, 7, "code", names[0], 1, names, &w);
	Value anonymous = value_function(c, V_FUNCTION, 1, 8, "code", 0, 0, NULL, NULL);
	Value problem = value_function(c, V_PROBLEM, 2, 9, "code", names[1], 0, NULL, NULL);
	Value tuple = value_seq(c, V_TUPLE, 3, (Value[]){value_i64(1), s, value_none()});
	Value list = value_seq(c, V_LIST, 2, (Value[]){r, f}),
		  single = value_seq(c, V_TUPLE, 1, &range), none = value_seq(c, V_TUPLE, 0, NULL);
	CHECK_TEXT(print(c, r), "(W = [[0, 1], [2, 3]], b = 0.0)");
	CHECK_TEXT(print(c, s), "a\"b\n\\é\x01");
	CHECK_TEXT(print_spec(c, s, "10.1s", 0), "         a");
	CHECK_TEXT(print_spec(c, s, "-3.1s", 0), "a  ");
	CHECK_TEXT(print(c, range), "0..5");
	CHECK_TEXT(print(c, by), "10..0 by -2");
	CHECK_TEXT(print(c, f), "<function W>");
	CHECK_TEXT(print(c, anonymous), "<function>");
	CHECK_TEXT(print(c, problem), "<problem b>");
	CHECK_TEXT(print(c, tuple), "(1, \"a\\\"b\\n\\\\é\\u{1}\", none)");
	CHECK_TEXT(print(c, list), "list((W = [[0, 1], [2, 3]], b = 0.0), <function W>)");
	CHECK_TEXT(print(c, single), "(0..5,)");
	CHECK_TEXT(print(c, none), "()");
	Text t;
#define TYPE(x) (text_init(&t, c), value_type_print(&t, x), finish_text(&t))
	CHECK_TEXT(TYPE(r), "record (W: f64[2, 2], b: f64)");
	CHECK_TEXT(TYPE(tuple), "tuple (i64, string, none)");
	CHECK_TEXT(TYPE(list), "list (record (W: f64[2, 2], b: f64), function)");
	CHECK_TEXT(TYPE(problem), "problem");
	CHECK_TEXT(TYPE(value_bool(1)), "bool");

	CHECK(value_field(r, names[0]).tensor == w.tensor && value_field(r, names[1]).kind == V_SCALAR);
	CHECK(value_field(r, atom(c, "")).kind == V_UNSET && value_field(s, names[0]).kind == V_UNSET);
	Value copy = value_tensor(tensor_copy(c, w.tensor));
	Value r2 = value_record(c, 2, names, (Value[]){copy, value_f64(0)}),
		  r3 = value_record(c, 2, names, (Value[]){copy, value_f64(-0.0)});
	CHECK(value_identical(r, r2) && value_identical(r, r) && !value_identical(r, r3) &&
	      !value_identical(r, s));
	Value s2 = value_string(c, "x", 1),
		  f2 = value_function(c, V_FUNCTION, 1, 7, "code", names[0], 1, names, &copy);
	CHECK(!value_identical(s, s2) && !value_identical(range, by) &&
	      !value_identical(f, anonymous) && !value_identical(tuple, none));
	Value s3 = value_string(c, "y", 1), s4 = value_string(c, "y", 1);
	CHECK(!value_identical(s2, s3) && value_identical(s3, s4));
	value_unref(s3);
	value_unref(s4);
	CHECK(value_identical(none, none) && value_identical(value_none(), value_none()));
	Value other_code = value_function(c, V_FUNCTION, 1, 6, "code", names[0], 1, names, &copy);
	CHECK(!value_identical(f, other_code));
	FunctionObject *code = (FunctionObject *)f.object, *code2 = (FunctionObject *)f2.object;
	code2->code = code->code;
	CHECK(value_identical(f, f2) && code->code_id == 7 && code->captured[0].name == names[0]);
	CHECK(value_identical(value_f64(NAN), value_f64(NAN)) &&
	      !value_identical(value_f64(0), value_i64(0)));
	const double nan_one[] = {NAN, 1}, minus_nan_one[] = {-NAN, 1};
	CHECK(value_identical(value_scalar_from_bytes(DT_C128, nan_one),
	                      value_scalar_from_bytes(DT_C128, minus_nan_one)));
	CHECK(!value_identical(value_c128(1), value_c128(I)));

	Value held = value_ref(list);
	Value all[] = {w,    s,      r,    range, by, f,  anonymous, problem, tuple,
	               list, single, none, copy,  r2, r3, s2,        f2,      other_code};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) value_unref(all[i]);
	CHECK_TEXT(print(c, held), "list((W = [[0, 1], [2, 3]], b = 0.0), <function W>)");
	value_unref(held);
	value_unref(value_f64(1));
	CHECK(heap_used(c) == before);

	/* A list nested a hundred thousand deep is printed in part, compared and
	 * released in bounded C stack. */
	Value deep = value_none(), deep2 = value_none();
	for (int i = 0; i < 100000; i++) {
		Value next = value_seq(c, V_LIST, 1, &deep), next2 = value_seq(c, V_TUPLE, 1, &next);
		value_unref(deep);
		value_unref(next);
		deep = next2;
		next = value_seq(c, V_LIST, 1, &deep2), next2 = value_seq(c, V_TUPLE, 1, &next);
		value_unref(deep2);
		value_unref(next);
		deep2 = next2;
	}
	CHECK(value_identical(deep, deep2) && strstr(print(c, deep), "..."));
	CHECK(strlen(TYPE(deep)) < 200);
	value_unref(deep);
	value_unref(deep2);
	/* A list that holds a list twice, sixty levels deep, has 2^60 leaves. */
	deep = value_none(), deep2 = value_none();
	for (int i = 0; i < 60; i++) {
		Value next = value_seq(c, V_LIST, 2, (Value[]){deep, deep}),
			  next2 = value_seq(c, V_LIST, 2, (Value[]){deep2, deep2});
		value_unref(deep);
		value_unref(deep2);
		deep = next, deep2 = next2;
	}
	Text flood;
	text_init(&flood, c);
	value_print(&flood, deep, "", 0);
	CHECK(flood.n > 1000 && flood.n < 20u << 20);
	text_free(&flood);
	CHECK(strlen(TYPE(deep)) > 10 && !value_identical(deep, deep2));
	value_unref(deep);
	value_unref(deep2);
	CHECK(heap_used(c) == before);
	ctx_free(c);
	CHECK(k.blocks == 0 && !k.wrong);
}

static void test_conversions(void) {
	Ctx *c = ctx_new(NULL);
	double x;
	int64_t i;
	bool b;
	Value i32 = {.kind = V_SCALAR, .dtype = DT_I32, .i32 = -4},
		  c64 = {.kind = V_SCALAR, .dtype = DT_C64, .c64 = 1};
	CHECK(value_as_f64(value_f64(2.5), &x) && x == 2.5 && value_as_f64(value_i64(3), &x) && x == 3);
	CHECK(value_as_f64(i32, &x) && x == -4 && value_as_f64(f32(0.5f), &x) && x == 0.5 &&
	      value_as_f64(value_bool(1), &x) && x == 1);
	CHECK(!value_as_f64(c64, &x) && !value_as_f64(value_none(), &x));
	CHECK(value_as_i64(value_f64(2), &i) && i == 2 && !value_as_i64(value_f64(2.5), &i) &&
	      !value_as_i64(value_f64(NAN), &i));
	CHECK(!value_as_i64(value_f64(0x1p63), &i) && value_as_i64(value_f64(-0x1p63), &i) &&
	      i == INT64_MIN);
	CHECK(value_as_i64(i32, &i) && i == -4 && value_as_i64(f32(7), &i) && i == 7 &&
	      value_as_i64(value_bool(0), &i) && i == 0);
	CHECK(!value_as_i64(c64, &i) && value_as_i64(value_i64(INT64_MAX), &i) && i == INT64_MAX);
	CHECK(value_as_bool(value_bool(true), &b) && b && !value_as_bool(value_i64(1), &b) &&
	      !value_as_bool(value_none(), &b));
	for (int d = 0; d < DT_COUNT; d++) {
		Tensor *t = tensor_zeros(c, (Dtype)d, 0, NULL);
		t->data[0] = 1;
		Value v = value_from_tensor(t);
		CHECK(v.kind == V_SCALAR && value_dtype(v) == (Dtype)d && value_rank(v) == 0 &&
		      value_is_array(v));
		Tensor *back = value_to_tensor(c, v);
		CHECK(back->data[0] == 1 && back->dtype == d && back->rank == 0);
		CHECK(value_identical(value_scalar_from_bytes((Dtype)d, back->data), v));
		Value boxed = value_tensor(back);
		CHECK(dtype_is_complex((Dtype)d) || (value_as_f64(boxed, &x) && value_as_f64(v, &x)));
		value_unref(boxed);
	}
	Value v = value_from_tensor(tensor_zeros(c, DT_F32, 1, (int64_t[]){3}));
	Tensor *t = value_to_tensor(c, v);
	CHECK(v.kind == V_TENSOR && t == v.tensor && value_dtype(v) == DT_F32 && value_rank(v) == 1 &&
	      !value_as_f64(v, &x));
	tensor_unref(t);
	value_unref(v);
	CHECK(value_from_tensor(NULL).kind == V_UNSET && !value_to_tensor(c, value_none()) &&
	      value_dtype(value_none()) == DT_COUNT);
	ctx_free(c);
}

static void test_value_failures(void) {
	for (uint64_t n = 1; n < 25; n++) {
		Counting k = {.fail_after = -1};
		HostAllocator host = {.resize = counting_resize, .ud = &k};
		Ctx *c = ctx_new(&host);
		Atom name = atom(c, "a");
		size_t before = heap_used(c);
		heap_fail_at(c, n, n % 3 != 0);
		Value v[6] = {value_string(c, "text", 4), value_range(c, 0, 4, 1)};
		v[2] = value_seq(c, V_LIST, 2, v);
		v[3] = value_record(c, 1, &name, &v[2]);
		v[4] = value_function(c, V_FUNCTION, 0, 0, NULL, name, 1, &name, &v[3]);
		v[5] = value_seq(c, V_TUPLE, 5, v);
		for (int i = 0; i < 6; i++) CHECK(v[i].kind != V_UNSET || n <= 6);
		Text t;
		text_init(&t, c);
		value_print(&t, v[5], "", 0);
		for (int i = 0; i < 100; i++) text_format(&t, "%s %d, ", "line", i);
		CHECK(t.failed || t.at[t.n] == 0);
		CHECK(!t.at || strlen(t.at) == t.n);
		text_free(&t);
		heap_fail_at(c, 0, false);
		for (int i = 0; i < 6; i++) value_unref(v[i]);
		CHECK(heap_used(c) == before);
		ctx_free(c);
		CHECK(k.blocks == 0 && !k.wrong);
	}
}

static void test_text(void) {
	Ctx *c = ctx_new(NULL);
	Text t;
	text_init(&t, c);
	text_free(&t);
	text_add(&t, NULL, 0);
	CHECK(t.at && t.at[0] == 0);
	for (int i = 0; i < 1000; i++) text_str(&t, "ab");
	text_format(&t, "%d", 12);
	CHECK(t.n == 2002 && !strcmp(t.at + 1998, "ab12") && !t.failed);
	text_add(&t, "x", SIZE_MAX / 2);
	CHECK(t.failed && t.n == 2002);
	text_str(&t, "ignored");
	CHECK(t.n == 2002);
	text_free(&t);
	ctx_free(c);
}

int main(void) {
	static void (*const tests[])(void) = {
		test_tensor_life,
		test_tensor_threads,
		test_walk,
		test_copies,
		test_convert,
		test_push_row,
		test_tensor_failures,
		test_print_scalars,
		test_print_tensors,
		test_containers,
		test_conversions,
		test_value_failures,
		test_text,
	};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tests[i]();
	return check_end();
}
