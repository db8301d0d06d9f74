/* test_api_value.c - unit tests of the public interface: values, native
 * functions of values, tensors.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"

/* ---- values -------------------------------------------------------------- */

static void test_values(T *t) {
	atled_value *v = NULL;
	FINE(t,
	     atled_eval(
			 t->x,
			 "(a = [1.0, 2.0], b = \"hé\", c = (1, true), d = list(none, 2..9 by 3), f = x -> x)",
			 ATLED_ZERO, NULL, &v));
	CHECK(atled_value_kind(v) == ATLED_RECORD && atled_value_count(v) == 5 &&
	      !strcmp(atled_value_field_name(v, 1), "b"));
	atled_value *b = atled_value_field(v, "b"), *c = atled_value_field(v, "c"),
				*d = atled_value_item(v, 3), *f = atled_value_field(v, "f");
	size_t n = 0;
	const char *text = atled_value_string(b, &n);
	CHECK(text && n == 3 && !strcmp(text, "hé"));
	CHECK(atled_value_kind(c) == ATLED_TUPLE && atled_value_kind(d) == ATLED_LIST &&
	      atled_value_kind(f) == ATLED_FUNCTION);
	atled_value *yes = atled_value_item(c, 1), *range = atled_value_item(d, 1),
				*none = atled_value_item(d, 0);
	int flag = 0;
	int64_t start, stop, step;
	double x;
	CHECK(atled_value_bool(yes, &flag) && flag == 1 && atled_value_kind(none) == ATLED_NONE);
	CHECK(atled_value_range(range, &start, &stop, &step) && start == 2 && stop == 9 && step == 3);
	CHECK(!atled_value_f64(b, &x) && !atled_value_string(c, NULL) && !atled_value_tensor(b) &&
	      !atled_value_item(v, 9) && !atled_value_field(v, "z"));
	Said said = {.n = 0};
	FINE(t, atled_value_write(v, NULL, 0, hear, &said));
	CHECK(strstr(said.text, "a = [1, 2]") && strstr(said.text, "\"hé\""));
	said.n = 0;
	atled_value *a = atled_value_field(v, "a");
	FINE(t, atled_value_write(a, ".2f", 0, hear, &said));
	CHECK(!strcmp(said.text, "[1.00, 2.00]"));
	said.n = 0;
	FINE(t, atled_value_describe(a, 1, hear, &said));
	CHECK(strstr(said.text, "f64[2]") && strstr(said.text, "max 2"));
	/* Constructing values and calling with them. */
	atled_value *made[3] = {atled_value_of_string(t->x, "abc", 2), atled_value_of_bool(t->x, 1),
	                        atled_value_of_none(t->x)};
	atled_value *list = atled_value_of_items(t->x, ATLED_LIST, 3, (const atled_value *const *)made);
	FINE(t, atled_set(t->x, "given", list));
	CHECK(number(t, "len(given[0]) + len(given)") == 5);
	CHECK(atled_set(t->x, "for", list) == ATLED_MISUSE &&
	      atled_set(t->x, "", list) == ATLED_MISUSE);
	CHECK(!atled_value_of_items(t->x, ATLED_RECORD, 0, NULL) &&
	      !atled_value_of_items(t->x, ATLED_LIST, 1, NULL));
	atled_value *five = atled_value_of_f64(t->x, 5), *result = NULL;
	FINE(t, atled_value_call(t->x, f, 1, (const atled_value *const *)&five, &result));
	CHECK(atled_value_f64(result, &x) && x == 5);
	CHECK(atled_value_call(t->x, five, 0, NULL, NULL) == ATLED_ERROR);
	atled_function *fn = NULL;
	FINE(t, atled_function_of(t->x, f, "(f64) -> f64", &fn));
	CHECK(fn != NULL);
	atled_function_free(fn);
	atled_value *all[] = {v,    a,       b,       c,       d,    f,    yes,   range,
	                      none, made[0], made[1], made[2], list, five, result};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) atled_value_free(all[i]);
}

/* ---- native functions ---------------------------------------------------- */

static atled_status native_pair(void *ud, atled_context *ctx, uint32_t nargs,
                                const atled_value *const *args, atled_value **result) {
	Said *said = ud;
	for (uint32_t i = 0; i < nargs; i++) {
		atled_value_describe(args[i], 0, hear, said);
		hear(said, ";", 1);
	}
	if (nargs == 0) {
		atled_raise(ctx, "nothing to pair");
		return ATLED_ERROR;
	}
	if (atled_value_kind(args[0]) == ATLED_FUNCTION) {
		atled_value *three = atled_value_of_f64(ctx, 3);
		atled_status st =
			atled_value_call(ctx, args[0], 1, (const atled_value *const[]){three}, result);
		atled_value_free(three);
		return st;
	}
	atled_value *items[2] = {atled_value_of_i64(ctx, nargs), atled_value_copy(args[0])};
	*result = atled_value_of_fields(ctx, 2, (const char *const[]){"n", "first"},
	                                (const atled_value *const *)items);
	atled_value_free(items[0]);
	atled_value_free(items[1]);
	return *result ? ATLED_OK : ATLED_NOMEM;
}

/* Gives a value of the context in ud, which is not the caller's. */
static atled_status native_foreign(void *ud, atled_context *ctx, uint32_t nargs,
                                   const atled_value *const *args, atled_value **result) {
	(void)ctx;
	(void)nargs;
	(void)args;
	*result = atled_value_of_f64(ud, 3);
	return *result ? ATLED_OK : ATLED_ERROR;
}

static void test_native(T *t) {
	Said said = {.n = 0};
	FINE(t, atled_define_native(t->x, "pair", native_pair, &said));
	CHECK(number(t, "pair((a = 1, b = [1.0, 2.0]), \"text\", 0..3).n") == 3);
	CHECK(!strcmp(said.text, "record (a: i64, b: f64[2]);string;range;"));
	CHECK(number(t, "pair(2.5).first") == 2.5);
	CHECK(number(t, "pair(x -> x^2)") == 9);
	CHECK(atled_compile(t->x, "pair()", ATLED_ZERO, "n") == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "nothing to pair"));
	CHECK(atled_compile(t->x, "pair(x -> error(\"inner\"))", ATLED_ZERO, "n") == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "inner"));
	CHECK(atled_define_native(t->x, "1x", native_pair, NULL) == ATLED_MISUSE);
	atled_context *other = atled_context_new(NULL);
	FINE(t, atled_define_native(t->x, "foreign", native_foreign, other));
	CHECK(atled_compile(t->x, "foreign()", ATLED_ZERO, "n") == ATLED_ERROR &&
	      strstr(atled_last_error(t->x)->message, "a value of another context"));
	atled_context_free(other);
	/* The library requests functions of the embedding program by name; here
	 * they are missing. */
	CHECK(atled_eval(t->x, "plot([1, 2])", ATLED_ZERO, "test", NULL) == ATLED_ERROR);
	const atled_error *missing = atled_last_error(t->x);
	CHECK(missing && !strcmp(missing->code, "E0803") &&
	      strstr(missing->message, "of the program around it"));
}

/* ---- the host's data ----------------------------------------------------- */

typedef struct Kept {
	int uses, frees;
} Kept;

static void free_kept(void *data) { ((Kept *)data)->frees++; }

static atled_status use_data(void *ud, atled_context *x, uint32_t nargs,
                             const atled_value *const *args, atled_value **result) {
	(void)nargs, (void)args, (void)result;
	Kept *k = atled_data(x), *next = ud;
	if (!k) return ATLED_ERROR;
	k->uses++;
	return next && k != next ? atled_set_data(x, next, free_kept) : ATLED_OK;
}

static void test_data(T *t) {
	(void)t;
	atled_context *x = atled_context_new(NULL), *other = atled_context_new(NULL);
	Kept first = {0}, second = {0};
	CHECK(!atled_data(x) && !atled_data(NULL));
	CHECK(atled_define_native(x, "use_data", use_data, &second) == ATLED_OK);
	CHECK(atled_compile(x, "use_data()", ATLED_ZERO, "d") == ATLED_ERROR);
	CHECK(atled_set_data(x, &first, free_kept) == ATLED_OK && atled_data(x) == &first);
	CHECK(atled_compile(x, "use_data()\nuse_data()", ATLED_ZERO, "d") == ATLED_OK);
	CHECK(first.uses == 1 && first.frees == 1 && second.uses == 1 && !second.frees);
	CHECK(atled_data(x) == &second && !atled_data(other));
	CHECK(atled_set_data(other, &first, NULL) == ATLED_OK);
	CHECK(atled_set_data(NULL, &first, free_kept) == ATLED_MISUSE);
	atled_context_free(x);
	atled_context_free(other);
	CHECK(first.frees == 1 && second.frees == 1);
}

/* ---- tensors ------------------------------------------------------------- */

static void note_release(void *ud, void *data) { *(void **)ud = data; }

static void test_tensors(T *t) {
	double memory[6] = {1, 2, 3, 4, 5, 6};
	void *released = NULL;
	atled_tensor *s = NULL;
	/* The transpose of a 2 x 3 matrix, and every second element in reverse
	 * order. */
	FINE(t, atled_tensor_wrap(t->x, ATLED_F64, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}, memory,
	                          ATLED_READ_ONLY, note_release, &released, &s));
	atled_value *v = atled_value_of_tensor(t->x, s);
	FINE(t, atled_set(t->x, "w", v));
	CHECK(number(t, "w[2, 1] * 10 + w[1, 0]") == 62);
	/* The host's memory does not change. */
	CHECK(number(t, "w[0, 0] = 100\nw[0, 0]") == 100 && memory[0] == 1);
	atled_tensor_free(s);
	atled_value_free(v);
	FINE(t, atled_compile(t->x, "w = 0", ATLED_ZERO, NULL));
	CHECK(released == memory);
	FINE(t, atled_tensor_wrap(t->x, ATLED_F64, 1, (int64_t[]){3}, (int64_t[]){-2}, memory + 4,
	                          ATLED_READ_ONLY, NULL, NULL, &s));
	v = atled_value_of_tensor(t->x, s);
	FINE(t, atled_set(t->x, "w", v));
	CHECK(number(t, "w[0] * 100 + w[1] * 10 + w[2]") == 531);
	FINE(t, atled_compile(t->x, "w = 0", ATLED_ZERO, NULL));
	atled_value_free(v);
	/* A DLPack round trip. */
	struct DLManagedTensor *dl = NULL;
	FINE(t, atled_tensor_to_dlpack(t->x, s, &dl));
	CHECK(dl && dl->dl_tensor.ndim == 1 && dl->dl_tensor.dtype.code == 2 &&
	      dl->dl_tensor.dtype.bits == 64 && dl->dl_tensor.data == memory + 4);
	atled_tensor_free(s);
	atled_tensor *back = NULL;
	FINE(t, atled_tensor_from_dlpack(t->x, dl, &back));
	atled_array a = {.size = sizeof a};
	CHECK(atled_tensor_view(back, &a) == ATLED_OK && a.data == memory + 4 && a.strides[0] == -2 &&
	      a.shape[0] == 3 && !a.writable);
	atled_tensor_free(back);
	DLManagedTensor foreign = {
		.dl_tensor = {.data = memory, .device = {2, 0}, .ndim = 0, .dtype = {2, 64, 1}}};
	CHECK(atled_tensor_from_dlpack(t->x, &foreign, &back) == ATLED_MISUSE && !back);
	foreign.dl_tensor.device.device_type = 1;
	foreign.dl_tensor.dtype.bits = 16;
	CHECK(atled_tensor_from_dlpack(t->x, &foreign, &back) == ATLED_MISUSE);
	CHECK(atled_tensor_new(t->x, (atled_dtype)99, 0, NULL, &s) == ATLED_MISUSE && !s);
	CHECK(atled_tensor_new(t->x, ATLED_F64, 9, (int64_t[9]){0}, &s) == ATLED_MISUSE);
	CHECK(atled_tensor_new(t->x, ATLED_F64, 1, (int64_t[]){-1}, &s) == ATLED_MISUSE);
	CHECK(atled_tensor_new(t->x, ATLED_F64, 2, (int64_t[]){INT64_MAX, INT64_MAX}, &s) ==
	      ATLED_NOMEM);
	FINE(t, atled_tensor_new(t->x, ATLED_C128, 2, (int64_t[]){0, 3}, &s));
	atled_tensor_free(s);
}

int main(void) {
	T t = {.x = atled_context_new(NULL)};
	if (!t.x) return 1;
	static const TestCase tests[] = {
		{"values", test_values},
		{"native", test_native},
		{"data", test_data},
		{"tensors", test_tensors},
	};
	run_tests(&t, sizeof tests / sizeof *tests, tests);
	atled_context_free(t.x);
	return check_end();
}
