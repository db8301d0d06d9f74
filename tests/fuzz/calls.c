/* calls.c - fuzz target: any bytes as a sequence of calls of atled.h.
 *
 * Method: a byte chooses a call, the next bytes its arguments (calls_world.h).
 * Only calls that the header permits are made. They include those that it calls
 * misuse: missing arguments, handles of another context, wrong types, strings
 * that are no UTF-8. Allocations fail where the input says so.
 *
 * Contract:
 * - No call crashes, hangs or returns ATLED_INTERNAL. A failure has a reason,
 *   and its results are NULL.
 * - When everything is freed, in either order, no byte of the library is left,
 *   and every object of the host has been released once.
 */
#include "tests/fuzz/calls_callbacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- arguments ----------------------------------------------------------- */

/* None needs much of the library, which each context reads anew. */
static const char *const programs[] = {
	"1 + 1",
	"x = 2.0",
	"f(x) = x^2 + 1",
	"f(a, x) = sum(tanh(a * x))",
	"v = [1.0, 2, 3]",
	"grad(f)(2.0)",
	"h(v)",
	"n(1, v)",
	"map(h, v)",
	"r = (a = 1, b = \"text\", c = v)",
	"l = list(1, f, r, x -> 2x)",
	"s = 0\nwhile true { s += 1 }",
	"f(x) = f(x)\nf(1)",
	"error(\"no {1}\")",
	"exit(3)",
	"print(\"printed {v:.2f}\")",
	"load(\"x.npy\")",
	"\"unclosed",
	"[1, 2] + [1, 2, 3]",
	"try { n(f) } catch e { print(e) }",
	"derivative h(x), dx = 2 * dx",
	"grad(x -> sum(h(x)))(v)",
	"jvp(h, v, v)",
	"hessian(x -> sum(h(x)^2))(v)",
	"problem p { domain x in [0, 1]\n field u\n u_xx == -1\n u == 0 at x = 0, x = 1 }",
	"rand(3)",
	"n(n, f)",
	"k() = n()\nk()",
	"z = zeros(10^6); sum(z + 1)",
	"x -> n(x)",
	"1..10",
	"x == x",
	"h2(v, 1)",
	"hb([true, false], i32(1), [1im, 2])",
	"hi()",
	"g(x: i64, y: f64[k]) = x * y",
	"f(x) = { y = x; for i in 0..10 { y = sin(y) + i }; y }",
	"w = f64([[1, 2], [3, 4]])\nlinsolve(w, [1.0, 2])",
	"f(x) = (x, 2x, sum(x))",
	"clock()",
};
static const char *const names[] = {"x", "f", "v",  "h", "n",  "r", "sin", "ode", "_k",
                                    "p", "l", "1b", "",  "if", "é", "a b", "h2",  "linalg"};
static const char *const types[] = {"(f64) -> f64",
                                    "(f64[n]) -> f64[n]",
                                    "(f64, f64[n]) -> f64",
                                    "(f64[n])",
                                    "(f64[n], f64[n + 1, 3], i64) -> (f64, bool)",
                                    "(c128[n, n])",
                                    "()",
                                    "(f64[3]) -> f64[3]",
                                    "(f64[m]) -> f64[3*m^2 + 1]",
                                    "(f32[n]) -> f32[n]",
                                    "(i64) -> i64",
                                    "(bool[n], i32)",
                                    "(f64[2, 2]) -> f64",
                                    "(f64[",
                                    "f64",
                                    "(f64[9223372036854775807])"};
static const char *const hows[] = {
	"grad", "grad 1", "value_and_grad",   "jvp",    "vjp", "hvp", "map", "jvp 1", "jacobian 0",
	"",     "gradx",  "grad 99999999999", "hessian"};
static const char *const texts[] = {"", "text", "é\n\"{}\\", "\xff", "1e5", ".3e", "{", "08d"};
#define TAKE(list, zero) take_text(list, sizeof(list) / sizeof *(list), zero)

static uint32_t take_context(void) { return take_below(16) ? 0 : CONTEXTS - 1; }

/* Which tensors, for a call: any in a place, or NULL. */
static atled_tensor *take_tensor(void) {
	const uint8_t b = take();
	return b < 250 ? w.tensor[b % TENSORS] : NULL;
}

/* ---- contexts ------------------------------------------------------------ */

static void free_data(void *data) { object_free(data); }

static void tell_warning(void *ud, size_t i, const atled_error *warning) {
	read_error(warning);
	if (atled_error_write(ud, i, ATLED_ERROR_TEXT, world_sink, NULL) == ATLED_INTERNAL) abort();
}

static void tell_progress(void *ud, const atled_progress_state *state) {
	(void)ud;
	for (; state; state = state->inside)
		for (uint32_t i = 0; i < state->count; i++) read_string(state->names[i]);
}

static void context_begin(void) {
	const uint32_t k = take_below(CONTEXTS);
	if (w.depth || w.ctx[k]) return;
	w.ctx[k] = atled_context_new(w.engine);
	if (!w.ctx[k]) abort();
	const atled_limit l = {
		.size = sizeof l, .memory = (size_t)64 << 20, .steps = 300000, .seconds = 5};
	right(k, atled_limits(w.ctx[k], &l));
	right(k, atled_output(w.ctx[k], world_sink, NULL));
	right(k, atled_warnings(w.ctx[k], tell_warning, w.ctx[k]));
	right(k, atled_progress(w.ctx[k], tell_progress, NULL));
}

static void context_end(void) {
	const uint32_t k = take_below(CONTEXTS);
	if (w.depth) return;
	for (uint32_t i = 0; i < VALUES; i++)
		if (w.value[i] && w.home[i] == k) w.home[i] = CONTEXTS;
	atled_context_free(w.ctx[k]);
	w.ctx[k] = NULL;
}

static void context_set(void) {
	const uint32_t k = take_context();
	atled_context *ctx = w.ctx[k];
	atled_limit l = {.size = sizeof l};
	uint8_t n;
	CallText t;
	switch (take_below(12)) {
	case 0: right(k, atled_context_compact(ctx)); break;
	/* all but files */
	case 1: right(k, atled_grant(ctx, take() & (ATLED_GRANT_ALL - ATLED_GRANT_FILES))); break;
	case 2:
		l.steps = 1000u * take();
		l.depth = take();
		right(k, atled_limits(ctx, &l));
		break;
	case 3:
		if (take() & 1) atled_interrupt(ctx);
		else atled_interrupt_all(w.engine);
		break;
	case 4: atled_clear_interrupt(ctx); break;
	case 5: right(k, atled_check_rules(ctx, (atled_rule_check)take_below(4))); break;
	case 6: right(k, atled_machine(ctx, (atled_machine_mode)take_below(4))); break;
	case 7: right(k, atled_seed(ctx, take_integer())); break;
	case 8:
		t = TAKE(texts, true);
		right(k, atled_folder(ctx, t.at));
		free(t.at);
		break;
	case 9: right(k, atled_profile(ctx)); break;
	case 10: {
		void *data = object_new(1);
		if (!right(k, atled_set_data(ctx, data, free_data))) object_free(data);
		else if (atled_data(ctx) != data) abort();
		break;
	}
	case 11:
		if (!ctx) break;
		n = take();
		atled_fail_allocation(ctx, n, take() & 1);
		break;
	}
}

static void visit_profile(void *ud, const char *function, const char *place, uint64_t calls,
                          double seconds) {
	(void)ud;
	(void)calls;
	(void)seconds;
	read_string(function);
	read_string(place);
}

static void visit_name(void *ud, const char *name, const atled_value *v) {
	read_string(name);
	if (v && atled_value_describe(v, 1, world_sink, ud) == ATLED_INTERNAL) abort();
}

static void visit_statement(void *ud, size_t start, size_t end, int shown) {
	(void)ud;
	(void)shown;
	if (start > end) abort();
}

static void context_ask(void) {
	const uint32_t k = take_context();
	atled_context *ctx = w.ctx[k];
	CallText t = TAKE(names, true);
	switch (take_below(14)) {
	case 0: {
		atled_error e = {.size = sizeof e};
		for (size_t i = 0; i < atled_error_count(ctx); i++) {
			if (atled_error_at(ctx, i, &e) != ATLED_OK) abort();
			read_error(&e);
			if (atled_error_write(ctx, i, (atled_error_form)(take() % 3), world_sink, NULL) ==
			    ATLED_INTERNAL)
				abort();
		}
		if (atled_error_at(ctx, atled_error_count(ctx), &e) != ATLED_MISUSE) abort();
		break;
	}
	case 1: right(k, atled_variables(ctx, visit_name, NULL)); break;
	case 2: right(k, atled_library_names(ctx, visit_name, NULL)); break;
	case 3: right(k, atled_modules(ctx, visit_name, NULL)); break;
	case 4: right(k, atled_module_names(ctx, t.at, visit_name, NULL)); break;
	case 5: right(k, atled_signature(ctx, t.at, world_sink, NULL)); break;
	case 6: right(k, atled_help(ctx, t.at, take() & 1, world_sink, NULL)); break;
	case 7: right(k, atled_statements(ctx, visit_statement, NULL)); break;
	case 8: right(k, atled_stats(ctx, &(atled_stat){.size = sizeof(atled_stat)})); break;
	case 9: right(k, atled_profile_read(ctx, visit_profile, NULL)); break;
	case 10: right(k, atled_dump(ctx, t.at, world_sink, NULL)); break;
	case 11: w.seen += atled_granted(ctx) + (unsigned)atled_exit_code(ctx); break;
	default: {
		atled_value *v = NULL;
		const bool found = right(k, atled_get(ctx, t.at, &v));
		if (found != (v != NULL)) abort();
		if (v) keep_value(k, v);
	}
	}
	free(t.at);
}

/* ---- programs ------------------------------------------------------------ */

static void show(void *ud, const atled_value *v, uint32_t line) {
	(void)line;
	if (atled_value_write(v, NULL, 3, world_sink, ud) == ATLED_INTERNAL) abort();
}

static void visit_token(void *ud, atled_token kind, size_t start, size_t end) {
	(void)kind;
	if (end < start || end > *(size_t *)ud) abort();
}

static void program(void) {
	const uint32_t k = take_context(), how = take_below(8);
	atled_context *ctx = w.ctx[k];
	const bool zero = take() & 1;
	CallText t = TAKE(programs, zero);
	const size_t n = zero ? ATLED_ZERO : t.n;
	const char *name = zero ? NULL : "calls.dsl";
	atled_value *v = NULL;
	switch (how) {
	case 0: right(k, atled_compile(ctx, t.at, n, name)); break;
	case 1: right(k, atled_check(ctx, t.at, n, name)); break;
	case 2: right(k, atled_format(ctx, t.at, n, name, world_sink, NULL)); break;
	case 3: right(k, atled_type(ctx, t.at, n, world_sink, NULL)); break;
	case 4: right(k, atled_run(ctx, t.at, n, name, show, NULL)); break;
	case 5:
		if (!t.at) break;
		w.seen += (unsigned)atled_incomplete(t.at, n);
		atled_tokens(t.at, n, visit_token, &t.n);
		break;
	default:
		if (right(k, atled_eval(ctx, t.at, n, name, &v)) != (v != NULL)) abort();
		if (v) keep_value(k, v);
	}
	free(t.at);
}

/* ---- functions ----------------------------------------------------------- */

static void function_new(void) {
	const uint32_t k = take_context(), how = take_below(4);
	atled_function *f = NULL;
	CallText name = how == 2 ? TAKE(hows, true) : TAKE(names, true), type = TAKE(types, true);
	bool made;
	switch (how) {
	case 0: made = right(k, atled_lookup(w.ctx[k], name.at, type.at, &f)); break;
	case 1: made = right(k, atled_function_of(w.ctx[k], take_value(), type.at, &f)); break;
	case 2:
		made = right(k, atled_derive(w.ctx[k], w.function[take_below(FUNCTIONS)], name.at, &f));
		break;
	default: f = atled_function_copy(w.function[take_below(FUNCTIONS)]); made = f;
	}
	if (made != (f != NULL)) abort();
	if (f) keep_function(f);
	free(name.at);
	free(type.at);
}

typedef struct StoredBytes {
	char *at;
	size_t n;
} StoredBytes;

static void store(void *ud, const char *bytes, size_t n) {
	StoredBytes *s = ud;
	if (!(s->at = realloc(s->at, s->n + n + 1))) abort();
	memcpy(s->at + s->n, bytes, n);
	s->n += n;
}

/* Stores a function and loads it again, in any context, possibly with a byte
 * changed. */
static void function_store(void) {
	const uint32_t k = take_context(), to = take_context();
	StoredBytes s = {NULL, 0};
	atled_function *f = NULL;
	CallText type = TAKE(types, true);
	if (right(k, atled_store(w.ctx[k], w.function[take_below(FUNCTIONS)], store, &s))) {
		size_t place = take();
		place = place << 8 | take();
		if (place < s.n) s.at[place] = (char)take();
	}
	if (right(to, atled_load(w.ctx[to], "stored", s.at, s.n, type.at, &f)) != (f != NULL)) abort();
	if (f) keep_function(f);
	free(s.at);
	free(type.at);
}

static void function_ask(void) {
	const uint32_t k = take_context();
	const atled_function *f = w.function[take_below(FUNCTIONS)];
	read_string(atled_function_type(f));
	w.seen += atled_function_inputs(f) + atled_function_outputs(f);
	right(k, atled_ir(w.ctx[k], f, take() & 1 ? "typed" : NULL, world_sink, NULL));
}

static void function_call(void) {
	enum { MOST = 8 };
	const uint32_t k = take_context();
	const atled_function *f = w.function[take_below(FUNCTIONS)];
	atled_tensor *in[MOST], *out[MOST], *before[MOST];
	uint32_t nin = atled_function_inputs(f), nout = atled_function_outputs(f);
	if (take() >= 250) nin++;
	if (nin > MOST || nout > MOST) return;
	for (uint32_t i = 0; i < nin; i++) in[i] = take_tensor();
	for (uint32_t i = 0; i < nout; i++) /* a callback must not write what an outer call reads */
		before[i] = out[i] = take() & 1 && !w.depth ? take_tensor() : NULL;
	const bool ok = right(k, atled_call(w.ctx[k], f, nin, in, nout, out));
	for (uint32_t i = 0; i < nout; i++) {
		if (before[i] ? out[i] != before[i] : ok != (out[i] != NULL)) abort();
		if (out[i] && !before[i]) keep_tensor(out[i]);
	}
}

enum { LENGTH = 3, PLACE_BYTES = 1 << 14 };

/* Whether every array of a type has at most PLACE_BYTES when all names are
 * LENGTH. Extents that are no sums are too complicated for this question. */
static bool fits(const char *type) {
	size_t bytes = 16, sum = 0;
	bool inside = false;
	for (const char *p = type; *p; p++) {
		if (*p == '[') inside = true;
		if (!inside) continue;
		if (*p == ']' || *p == ',') {
			if ((bytes *= sum) > PLACE_BYTES) return false;
			sum = 0;
			inside = *p == ',';
			if (!inside) bytes = 16;
		} else if (*p >= '0' && *p <= '9') {
			char *end;
			sum += strtoul(p, &end, 10);
			if (sum > PLACE_BYTES) return false;
			p = end - 1;
		} else if (*p != '[' && *p != '+' && *p != ' ') {
			sum += LENGTH;
			while (p[1] && !strchr("[],+*-^ ", p[1])) p++;
			if (strchr("*-^", p[1])) return false;
		}
	}
	return true;
}

static void function_entry(void) {
	enum { MOST = 8 };
	const uint32_t k = take_context();
	const atled_function *f = w.function[take_below(FUNCTIONS)];
	atled_raw raw = NULL;
	void *ud = NULL, *places[2 * MOST];
	if (!right(k, atled_entry(w.ctx[k], f, &raw, &ud))) return;
	const uint32_t nin = atled_function_inputs(f), nout = atled_function_outputs(f);
	if (nin > MOST || nout > MOST || !fits(atled_function_type(f))) return;
	int64_t lengths[64];
	for (uint32_t i = 0; i < 64; i++) lengths[i] = LENGTH;
	const bool overlap = take() & 1;
	for (uint32_t i = 0; i < nin + nout; i++) {
		places[i] = i >= nin && overlap && nin ? places[0] : calloc(1, PLACE_BYTES);
		if (!places[i]) abort();
	}
	right(k, raw(ud, lengths, (const void *const *)places, places + nin));
	for (uint32_t i = 0; i < nin + nout; i++)
		if (i < nin || !overlap || !nin) free(places[i]);
}

/* ---- host functions ------------------------------------------------------ */

static void host_new(void) {
	const uint32_t k = take_context();
	const uint8_t b = take();
	const HostKind *kind = b < 240 ? &host_kinds[b % HOST_KINDS] : NULL;
	CallText name = {NULL, 0}, type = {NULL, 0};
	if (!kind) {
		name = TAKE(names, true);
		type = TAKE(types, true);
	}
	const HostKind **ud = object_new(sizeof *ud);
	*ud = kind;
	const uint8_t how = take();
	const atled_host h = {.size = sizeof h,
	                      .name = kind ? kind->name : name.at,
	                      .type = kind ? kind->type : type.at,
	                      .ud = ud,
	                      .value = how < 250 ? host_value : NULL,
	                      .jvp = how & 1 ? host_jvp : NULL,
	                      .vjp = how & 2 ? host_vjp : NULL,
	                      .free_ud = free_data};
	if (!right(k, atled_define_host(w.ctx[k], &h))) object_free(ud);
	free(name.at);
	free(type.at);
}

static void native_new(void) {
	const uint32_t k = take_context();
	CallText name = TAKE(names, true);
	right(k, atled_define_native(w.ctx[k], take() & 1 ? name.at : "n", native, NULL));
	free(name.at);
}

/* ---- tensors ------------------------------------------------------------- */

static void tensor_new(void) {
	const uint32_t k = take_context();
	uint32_t rank;
	int64_t shape[ATLED_MAX_RANK + 1];
	const atled_dtype d = take_shape(&rank, shape);
	atled_tensor *t = NULL;
	if (right(k, atled_tensor_new(w.ctx[k], d, rank, take() < 250 ? shape : NULL, &t)) !=
	    (t != NULL))
		abort();
	if (!t) return;
	atled_array a = {.size = sizeof a};
	if (atled_tensor_view(t, &a) != ATLED_OK || !a.writable) abort();
	fill_array(&a, take());
	keep_tensor(t);
}

static void tensor_ask(void) {
	const uint32_t k = take_context();
	const atled_tensor *t = take_tensor();
	atled_array a = {.size = sizeof a};
	if (atled_tensor_view(t, &a) != (t ? ATLED_OK : ATLED_MISUSE)) abort();
	switch (take_below(4)) {
	case 0: {
		const uint32_t place = take_below(EXPORTS);
		DLManagedTensor *dl = NULL;
		if (w.exported[place]) break;
		if (right(k, atled_tensor_to_dlpack(w.ctx[k], t, &dl)) != (dl != NULL)) abort();
		w.exported[place] = dl;
		break;
	}
	case 1: {
		const uint32_t place = take_below(EXPORTS);
		atled_tensor *back = NULL;
		if (right(k, atled_tensor_from_dlpack(w.ctx[k], w.exported[place], &back)) !=
		    (back != NULL))
			abort();
		if (!back) break;
		w.exported[place] = NULL;
		keep_tensor(back);
		break;
	}
	case 2:
		if (t) keep_tensor(atled_tensor_copy(t));
		break;
	default:
		if (!w.depth) keep_tensor(NULL);
	}
}

static void tensor_wrap(void) { wrap_tensor(take_context()); }

static void tensor_import(void) { import_tensor(take_context()); }

/* ---- values -------------------------------------------------------------- */

static void value_items(uint32_t k, bool fields) {
	enum { MOST = 6 };
	const atled_value *items[MOST];
	CallText named[MOST];
	const char *of[MOST];
	const uint32_t n = take_below(MOST + 1);
	const uint8_t how = take();
	for (uint32_t i = 0; i < n; i++) {
		items[i] = take_value();
		named[i] = TAKE(names, true);
		of[i] = named[i].at;
	}
	const atled_kind kind = how < 250 ? (how & 1 ? ATLED_TUPLE : ATLED_LIST) : ATLED_ARRAY;
	keep_value(k, fields ? atled_value_of_fields(w.ctx[k], n, of, items)
	                     : atled_value_of_items(w.ctx[k], kind, n, items));
	for (uint32_t i = 0; i < n; i++) free(named[i].at);
}

static void value_new(void) {
	const uint32_t k = take_context();
	atled_context *ctx = w.ctx[k];
	CallText t;
	switch (take_below(10)) {
	case 0: keep_value(k, atled_value_of_none(ctx)); break;
	case 1: keep_value(k, atled_value_of_f64(ctx, take_number())); break;
	case 2: keep_value(k, atled_value_of_i64(ctx, take_integer())); break;
	case 3: keep_value(k, atled_value_of_bool(ctx, take())); break;
	case 4: {
		const bool zero = take() & 1;
		t = TAKE(texts, zero);
		keep_value(k, atled_value_of_string(ctx, t.at, zero ? ATLED_ZERO : t.n));
		free(t.at);
		break;
	}
	case 5: keep_value(k, atled_value_of_tensor(ctx, take_tensor())); break;
	case 6: {
		void *pointer = object_new(1);
		t = TAKE(names, true);
		atled_value *v = atled_value_of_host(ctx, t.at, pointer, free_data);
		if (v) keep_value(k, v);
		else object_free(pointer);
		free(t.at);
		break;
	}
	case 7: value_items(k, true); break;
	default: value_items(k, false);
	}
}

static void value_write(void) {
	const atled_value *v = take_value();
	CallText spec = TAKE(texts, true);
	const int edge = (int)take_below(4);
	const atled_status st = take() & 1 ? atled_value_write(v, spec.at, edge, world_sink, NULL)
	                                   : atled_value_describe(v, edge, world_sink, NULL);
	if (v ? st == ATLED_INTERNAL : st != ATLED_MISUSE) abort();
	free(spec.at);
}

static void value_ask(void) {
	const uint32_t place = take_below(VALUES), home = w.home[place];
	const atled_value *v = w.value[place];
	if (home >= CONTEXTS) {
		if (atled_value_kind(v) != ATLED_NONE) abort();
		return;
	}
	double x;
	int64_t i, range[3];
	int b;
	size_t n = 0;
	const char *text = atled_value_string(v, &n);
	if (text) world_sink(NULL, text, n + 1);
	w.seen += (unsigned)(atled_value_f64(v, &x) + atled_value_i64(v, &i) + atled_value_bool(v, &b));
	atled_value_range(v, &range[0], &range[1], &range[2]);
	read_string(atled_value_host_type(v));
	w.seen += atled_value_host(v, NULL) != NULL;
	const size_t count = atled_value_count(v), k = take_below(8);
	for (size_t j = 0; j < count; j++) read_string(atled_value_field_name(v, j));
	atled_value *item = k & 1 ? atled_value_item(v, k) : atled_value_field(v, "a");
	atled_value *copy = atled_value_copy(v);
	atled_tensor *t = atled_value_tensor(v);
	if (item && atled_value_kind(v) < ATLED_TUPLE) abort();
	if (item) keep_value(home, item);
	if (copy) keep_value(home, copy);
	if (t) keep_tensor(t);
}

static void value_free(void) {
	if (!w.depth) keep_value(CONTEXTS, NULL);
}

static void value_set(void) {
	const uint32_t k = take_context();
	CallText name = TAKE(names, true);
	right(k, atled_set(w.ctx[k], name.at, take_value()));
	free(name.at);
}

static void value_call(void) {
	enum { MOST = 4 };
	const uint32_t k = take_context(), n = take_below(MOST + 1);
	const atled_value *f = take_value(), *args[MOST];
	atled_value *v = NULL;
	for (uint32_t i = 0; i < n; i++) args[i] = take_value();
	if (right(k, atled_value_call(w.ctx[k], f, n, args, &v)) != (v != NULL)) abort();
	if (v) keep_value(k, v);
}

/* ---- the sequence -------------------------------------------------------- */

static void one_call(void) {
	static void (*const calls[])(void) = {
		program,       program,        program,      context_begin,  context_end,  context_set,
		context_ask,   function_new,   function_new, function_store, function_ask, function_call,
		function_call, function_entry, host_new,     native_new,     tensor_new,   tensor_ask,
		tensor_wrap,   tensor_import,  value_new,    value_new,      value_write,  value_ask,
		value_free,    value_set,      value_call,   value_call};
	calls[take_below(sizeof calls / sizeof *calls)]();
}

static void free_contexts(void) {
	for (uint32_t k = 0; k < CONTEXTS; k++) atled_context_free(w.ctx[k]);
}

static void free_handles(void) {
	for (uint32_t k = 0; k < VALUES; k++) atled_value_free(w.value[k]);
	for (uint32_t k = 0; k < FUNCTIONS; k++) atled_function_free(w.function[k]);
	for (uint32_t k = 0; k < TENSORS; k++) atled_tensor_free(w.tensor[k]);
	for (uint32_t k = 0; k < EXPORTS; k++)
		if (w.exported[k]) w.exported[k]->deleter(w.exported[k]);
}

/* Frees everything in an order of engine, contexts and handles, and checks that
 * nothing is left. */
static void end_world(uint8_t order) {
	if (order & 1) atled_engine_free(w.engine);
	if (order & 2) free_contexts();
	free_handles();
	if (!(order & 2)) free_contexts();
	if (!(order & 1)) atled_engine_free(w.engine);
	if (w.bytes || w.objects) {
		fprintf(stderr, "left: %zu bytes of the library, %zu objects of the host\n", w.bytes,
		        w.objects);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	w = (CallsWorld){.at = data, .end = data + size};
	w.engine = atled_engine_new(&(atled_engine_config){.size = sizeof(atled_engine_config),
	                                                   .resize = world_resize,
	                                                   .ud = &w,
	                                                   .threads = 1,
	                                                   .no_machine_code = 1,
	                                                   .code_cache = ""});
	if (!w.engine) abort();
	context_begin();
	const uint8_t order = take();
	while (w.at < w.end) one_call();
	end_world(order);
	return 0;
}
