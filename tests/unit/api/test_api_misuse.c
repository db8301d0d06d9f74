/* test_api_misuse.c - unit tests of the public interface: calls with invalid
 * arguments say what is invalid.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/api/help.h"

#include <stddef.h>

static void ignore_text(void *ud, const char *text, size_t n) { (void)ud, (void)text, (void)n; }
static atled_status native(void *ud, atled_context *x, uint32_t n, const atled_value *const *args,
                           atled_value **result) {
	(void)ud, (void)x, (void)n, (void)args, (void)result;
	return ATLED_OK;
}

/* The call was refused with a message of its own: not with that of the failure
 * before, which `stale` makes. */
static bool says(T *t, atled_status st, const char *call, const char *what) {
	const atled_error *e = atled_last_error(t->x);
	const bool fine = st == ATLED_MISUSE && e && e->status == ATLED_MISUSE &&
	                  !strncmp(e->message, call, strlen(call)) && strstr(e->message, what);
	if (!fine) printf("  %s: status %d, \"%s\"\n", call, (int)st, e ? e->message : "(nothing)");
	return fine;
}

static void stale(T *t) {
	CHECK(atled_compile(t->x, "undefined", ATLED_ZERO, NULL) == ATLED_ERROR);
}

#define REFUSED(call, what) (stale(t), CHECK(says(t, (call), split(#call), what)))

/* The function's name at the start of a call's text. */
static const char *split(const char *text) {
	static char name[64];
	const size_t n = strcspn(text, "(");
	snprintf(name, sizeof name, "%.*s", (int)n, text);
	return name;
}

/* For constructors, which return a handle. */
static atled_status made(T *t, const atled_value *v) {
	const atled_error *e = atled_last_error(t->x);
	return v ? ATLED_OK : e ? e->status : ATLED_ERROR;
}

static void test_programs(T *t) {
	atled_context *x = t->x;
	atled_value *v = NULL;
	REFUSED(atled_compile(x, NULL, 0, NULL), "text is NULL");
	REFUSED(atled_eval(x, NULL, 0, NULL, &v), "text is NULL");
	REFUSED(atled_run(x, NULL, 0, NULL, NULL, NULL), "text is NULL");
	REFUSED(atled_check(x, NULL, 0, NULL), "text is NULL");
	REFUSED(atled_statements(x, NULL, NULL), "visit is NULL");
	REFUSED(atled_variables(x, NULL, NULL), "visit is NULL");
	REFUSED(atled_library_names(x, NULL, NULL), "visit is NULL");
	REFUSED(atled_modules(x, NULL, NULL), "visit is NULL");
	REFUSED(atled_module_names(x, NULL, NULL, NULL), "module is NULL");
	REFUSED(atled_module_names(x, "ode", NULL, NULL), "visit is NULL");
	REFUSED(atled_format(x, NULL, 0, NULL, ignore_text, NULL), "text is NULL");
	REFUSED(atled_format(x, "1", 1, NULL, NULL, NULL), "sink is NULL");
	REFUSED(atled_help(x, NULL, 0, ignore_text, NULL), "name is NULL");
	REFUSED(atled_help(x, "sin", 0, NULL, NULL), "sink is NULL");
	REFUSED(atled_signature(x, NULL, ignore_text, NULL), "name is NULL");
	REFUSED(atled_type(x, NULL, 0, ignore_text, NULL), "expression is NULL");
	REFUSED(atled_type(x, "1", (size_t)1 << 40, ignore_text, NULL), "2 GB");
	REFUSED(atled_stats(x, NULL), "out is NULL");
	REFUSED(atled_stats(x, &(atled_stat){0}), "out->size");
	REFUSED(atled_machine(x, (atled_machine_mode)7), "atled_machine_mode");
	REFUSED(atled_check_rules(x, (atled_rule_check)7), "atled_rule_check");
	REFUSED(atled_profile_read(x, NULL, NULL), "visit is NULL");
	REFUSED(atled_dump(x, "llvm", ignore_text, NULL), "stage");
	REFUSED(atled_limits(x, NULL), "limit is NULL");
	REFUSED(atled_limits(x, &(atled_limit){0}), "limit->size");
}

static void test_functions(T *t) {
	atled_context *x = t->x, *other = atled_context_new(NULL);
	atled_function *f = NULL, *foreign = NULL, *g = (atled_function *)t;
	FINE(t, atled_compile(x, "f(x) = x + 1", ATLED_ZERO, NULL));
	FINE(t, atled_lookup(x, "f", "(f64) -> f64", &f));
	CHECK(atled_compile(other, "f(x) = x", ATLED_ZERO, NULL) == ATLED_OK &&
	      atled_lookup(other, "f", "(f64) -> f64", &foreign) == ATLED_OK);
	REFUSED(atled_lookup(x, NULL, NULL, &g), "name is NULL");
	CHECK(!g);
	REFUSED(atled_lookup(x, "f", NULL, NULL), "out is NULL");
	REFUSED(atled_function_of(x, NULL, NULL, &g), "value is NULL");
	REFUSED(atled_store(x, foreign, ignore_text, NULL), "this context");
	REFUSED(atled_store(x, f, NULL, NULL), "sink is NULL");
	g = (atled_function *)t;
	REFUSED(atled_load(x, NULL, "", 0, NULL, &g), "name is NULL");
	CHECK(!g);
	REFUSED(atled_load(x, "f", NULL, 3, NULL, &g), "bytes is NULL");
	REFUSED(atled_load(x, "f", "", 0, NULL, NULL), "out is NULL");
	g = (atled_function *)t;
	REFUSED(atled_derive(x, foreign, "grad 0", &g), "this context");
	CHECK(!g);
	REFUSED(atled_derive(x, f, NULL, &g), "how is NULL");
	REFUSED(atled_derive(x, f, "grad 0", NULL), "out is NULL");
	REFUSED(atled_call(x, foreign, 0, NULL, 0, NULL), "this context");
	REFUSED(atled_call(x, f, 1000, NULL, 1, NULL), "more arguments");
	REFUSED(atled_call(x, f, 1, NULL, 1, NULL), "NULL");
	atled_raw raw = NULL;
	void *ud = t;
	REFUSED(atled_entry(x, f, NULL, &ud), "NULL");
	CHECK(!ud);
	REFUSED(atled_entry(x, NULL, &raw, &ud), "this context");
	REFUSED(atled_ir(x, foreign, NULL, ignore_text, NULL), "this context");
	REFUSED(atled_ir(x, f, NULL, NULL, NULL), "sink is NULL");
	REFUSED(atled_define_host(x, NULL), "host is NULL");
	REFUSED(atled_define_host(x, &(atled_host){0}), "host->size");
	atled_function_free(f);
	atled_function_free(foreign);
	atled_context_free(other);
}

static void test_values(T *t) {
	atled_context *x = t->x;
	atled_value *v = (atled_value *)t, *one = atled_value_of_f64(x, 1);
	REFUSED(atled_get(x, NULL, &v), "name is NULL");
	CHECK(!v);
	REFUSED(atled_get(x, "a", NULL), "out is NULL");
	REFUSED(atled_set(x, NULL, one), "name is NULL");
	REFUSED(atled_set(x, "a", NULL), "v is NULL");
	v = (atled_value *)t;
	REFUSED(atled_value_call(x, NULL, 0, NULL, &v), "fn is NULL");
	CHECK(!v);
	REFUSED(atled_define_native(x, NULL, native, NULL), "name is NULL");
	REFUSED(atled_define_native(x, "n", NULL, NULL), "fn is NULL");
	atled_tensor *s = NULL;
	REFUSED(atled_tensor_new(x, ATLED_F64, 0, NULL, NULL), "out is NULL");
	REFUSED(atled_tensor_to_dlpack(x, NULL, NULL), "t is NULL");
	REFUSED(atled_tensor_from_dlpack(x, NULL, &s), "dl is NULL");
	CHECK(!s);
#define NONE(call, what) (stale(t), CHECK(says(t, made(t, (call)), split(#call), what)))
	NONE(atled_value_of_string(x, NULL, 0), "text is NULL");
	NONE(atled_value_of_tensor(x, NULL), "t is NULL");
	NONE(atled_value_of_host(x, NULL, t, NULL), "type is NULL");
	NONE(atled_value_of_host(x, "t", NULL, NULL), "pointer is NULL");
	REFUSED(atled_value_write(one, NULL, 0, NULL, NULL), "sink is NULL");
	REFUSED(atled_value_describe(one, 0, NULL, NULL), "sink is NULL");
	NONE(atled_value_of_items(x, ATLED_RECORD, 0, NULL), "kind");
	/* Messages from inside a call have no prefix. */
	const atled_value *items[] = {one};
	stale(t);
	CHECK(
		says(t, made(t, atled_value_of_string(x, "a\xff", 2)), "byte 1 of the string (0xff)", ""));
	CHECK(says(t, made(t, atled_value_of_string(x, "\xed\xa0\x80", 3)), "byte 0", "UTF-8"));
	CHECK(says(t, made(t, atled_value_of_fields(x, 1, (const char *[]){"\xc0"}, items)), "byte 0",
	           "name of a field"));
	CHECK(says(t, made(t, atled_value_of_fields(x, 1, (const char *[]){NULL}, items)), "the name",
	           "NULL"));
	CHECK(says(t, atled_set(x, "\xff", one), "`", "cannot be a name"));
	/* A string may contain the character NUL. */
	v = atled_value_of_string(x, "a\0b", 3);
	FINE(t, atled_set(x, "with_nul", v));
	CHECK(number(t, "len(with_nul)") == 3);
	atled_value_free(v);
	atled_value_free(one);
}

int main(void) {
	T own = {.x = atled_context_new(NULL)}, *t = &own;
	if (!CHECK(own.x)) return check_end();
	test_programs(t);
	test_functions(t);
	test_values(t);
	CHECK(number(t, "1 + 1") == 2);
	atled_context_free(own.x);
	return check_end();
}
