/* test_eval_control.c - unit tests of the evaluator's control flow.
 *
 * Covers recursion, loops, try, guards, errors, dynamic values, output and host
 * functions.
 *
 * Needs: help.h.
 * Guarantees: the last line is "N passed, N failed"; exit status 0 when nothing
 * failed.
 */
#include "tests/unit/eval/help.h"

/* ---- control ------------------------------------------------------------- */

/* fib(n) = if n < 2 { n } else { fib(n-1) + fib(n-2) }, or an endless
 * recursion. */
static void make_recursion(T *t, const void *what) {
	const bool endless = *(const bool *)what;
	ev_begin(t);
	Fn *self = build_fn(t->b);
	TypeId i64 = ev_num(t, DT_I64);
	Ref n = ev_param(t, i64), one = build_i64(t->b, 1), two = build_i64(t->b, 2), r;
	AttrId attr = attr_intern(t->c, (int64_t[]){self->id}, 1);
	OpenRegion *o = build_region_begin(t->b, 0, NULL, NULL);
	RegionId small = build_region_end(t->b, o, 1, &n);
	o = build_region_begin(t->b, 0, NULL, NULL);
	Ref m = endless ? n : build2(t->b, OP_SUB, n, one);
	Ref a = build_typed(t->b, OP_CALL, 1, &m, attr, 1, &i64, NULL);
	if (!endless) {
		Ref k = build2(t->b, OP_SUB, n, two);
		a = build2(t->b, OP_ADD, a, build_typed(t->b, OP_CALL, 1, &k, attr, 1, &i64, NULL));
	}
	RegionId large = build_region_end(t->b, o, 1, &a);
	build_if(t->b, build2(t->b, OP_LT, n, two), small, large, &r);
	t->f = build_end(t->b, 1, &r);
}

static void test_recursion(T *t) {
	Value n = value_i64(20), r;
	bool endless = false;
	if (ev_build_it(t, make_recursion, &endless)) {
		run_counters(t->c)->calls = 0;
		CHECK(ev_call(t, &n, &r) == ST_OK && r.i == 6765);
		CHECK(run_counters(t->c)->calls == 21891);
		fn_unref(t->f);
	}
	endless = true;
	if (ev_build_it(t, make_recursion, &endless)) {
		CHECK(ev_failed_with(t, ev_call(t, &n, &r), ST_LIMIT, E_DEPTH, "2000"));
		/* The C stack is the tighter limit, and is not overrun. */
		ctx_set_depth_limit(t->c, 1000000000);
		CHECK(ev_failed_with(t, ev_call(t, &n, &r), ST_LIMIT, E_DEPTH, NULL));
		ctx_set_depth_limit(t->c, 2000);
		n = value_i64(1);
		CHECK(ev_call(t, &n, &r) == ST_OK && r.i == 1);
		fn_unref(t->f);
	}
}

/* while x < limit { x = 2x + 1; k = k + 1 }, with a carried tensor that is
 * changed in place under an `if`. */
static void make_while(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	TypeId f64 = ev_num(t, DT_F64), i64 = ev_num(t, DT_I64),
		   v = ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0));
	Ref limit = ev_param(t, f64), x0 = ev_param(t, v), p[3], r[3];
	TypeId types[3] = {f64, i64, v};
	OpenRegion *o = build_region_begin(t->b, 3, types, p);
	Ref more = build2(t->b, OP_LT, p[0], limit);
	RegionId cond = build_region_end(t->b, o, 1, &more);
	o = build_region_begin(t->b, 3, types, p);
	Ref y[3] = {
		build2(t->b, OP_ADD, build2(t->b, OP_MUL, p[0], build_f64(t->b, 2)), build_f64(t->b, 1)),
		build2(t->b, OP_ADD, p[1], build_i64(t->b, 1)), REF_NONE};
	OpenRegion *in = build_region_begin(t->b, 0, NULL, NULL);
	Ref set = build_scatter(t->b, OP_SCATTER_SET, p[2], p[1], p[0], 0, 0);
	RegionId yes = build_region_end(t->b, in, 1, &set);
	in = build_region_begin(t->b, 0, NULL, NULL);
	RegionId no = build_region_end(t->b, in, 1, &p[2]);
	Ref odd =
		build2(t->b, OP_EQ, build2(t->b, OP_MOD, p[1], build_i64(t->b, 2)), build_i64(t->b, 1));
	build_if(t->b, odd, yes, no, &y[2]);
	RegionId body = build_region_end(t->b, o, 3, y);
	build_while(t->b, 3, (Ref[]){build_f64(t->b, 1), build_i64(t->b, 0), x0}, cond, body, r);
	t->f = build_end(t->b, 3, r);
}

static void test_while(T *t) {
	if (!ev_build_it(t, make_while, NULL)) return;
	Value args[2] = {value_f64(1e6), value_tensor(ev_tensor(t, DT_F64, SHAPE(100000), 5, 6))}, r[3];
	Tensor *keep = tensor_copy(t->c, args[1].tensor);
	CHECK(ev_call(t, args, r) == ST_OK); /* prepares the function */
	ev_drop(r, 3);
	uint64_t before = heap_allocation_count(t->c);
	CHECK(ev_call(t, args, r) == ST_OK);
	/* The first write copies; the others are in place. */
	CHECK(heap_allocation_count(t->c) - before < 12);
	CHECK(r[0].f == 1048575 && r[1].i == 19);
	CHECK(creal(ev_at(r[2].tensor, (int64_t[]){3})) == 15 &&
	      creal(ev_at(r[2].tensor, (int64_t[]){2})) == creal(ev_at(keep, (int64_t[]){2})));
	CHECK(value_identical(args[1], value_tensor(keep))); /* the caller's argument is unchanged */
	ev_drop(r, 3);
	tensor_unref(keep);
	ev_drop(args, 2);
	fn_unref(t->f);
}

/* try { big = x + 1; y = x[k]; y + sum(big) } catch e { print-able e }: the
 * result is the message. */
static void make_try(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref x = ev_param(t, ev_vec(t, DT_F64, 12)), k = ev_param(t, ev_num(t, DT_I64)), p, r[2];
	Ref big = build2(t->b, OP_ADD, x, x);
	OpenRegion *o = build_region_begin(t->b, 0, NULL, NULL);
	Ref inner = build2(t->b, OP_MUL, big, x);
	Ref y = build2(t->b, OP_ADD, build_gather(t->b, inner, k, 0, 0),
	               build_reduce(t->b, OP_REDUCE_SUM, inner, 1, (int[]){0}));
	Ref out[2] = {y, build_const(t->b, value_none())};
	RegionId body = build_region_end(t->b, o, 2, out);
	TypeId dyn = type_dyn(t->c);
	o = build_region_begin(t->b, 1, &dyn, &p);
	out[0] = build_f64(t->b, -1);
	out[1] = p;
	RegionId handler = build_region_end(t->b, o, 2, out);
	build_try(t->b, body, handler, r);
	t->f = build_end(t->b, 2, r);
}

static void test_try(T *t) {
	if (!ev_build_it(t, make_try, NULL)) return;
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(12), 1, 2)), value_i64(3)}, r[2];
	size_t used = heap_used(t->c);
	CHECK(ev_call(t, args, r) == ST_OK && r[0].f > 12 && r[1].kind == V_NONE);
	ev_drop(r, 2);
	args[1] = value_i64(12);
	CHECK(ev_call(t, args, r) == ST_OK && r[0].f == -1 && r[1].kind == V_STRING &&
	      strstr(((StringObject *)r[1].object)->text, "index 12"));
	CHECK(diag_total(t->c) == 0);
	ev_drop(r, 2);
	ctx_interrupt(t->c); /* an interrupt is not a user error: `try` does not catch it */
	args[1] = value_i64(3);
	Status st = ST_OK;
	for (int i = 0; i < 300 && st == ST_OK; i++) {
		st = ev_call(t, args, r);
		if (st == ST_OK) ev_drop(r, 2);
	}
	ctx_clear_interrupt(t->c);
	CHECK(ev_failed_with(t, st, ST_INTERRUPTED, E_INTERRUPT, NULL));
	CHECK(heap_used(t->c) <= used + 65536);
	ev_drop(args, 1);
	fn_unref(t->f);
}

/* A guard compares two extents at run time. */
static void make_guard(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	SourceId src = source_add(t->c, "g.dsl", "v + w\n", 6);
	Dim n = build_fresh_dim(t->b, atom(t->c, "n"), span_intern(t->c, span_made(src, 0, 1))),
		m = build_fresh_dim(t->b, atom(t->c, "m"), 0);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, n)), y = ev_param(t, ev_vec_of(t, DT_F64, m));
	build_at(t->b, span_intern(t->c, span_made(src, 0, 5)));
	build_unify(t->b, n, m, atom(t->c, "cannot add f64[n] and f64[m]"));
	Ref r = build2(t->b, OP_ADD, x, y);
	t->f = build_end(t->b, 1, &r);
}

static void test_guard(T *t) {
	if (!ev_build_it(t, make_guard, NULL)) return;
	Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(20), 1, 2)),
	                 value_tensor(ev_tensor(t, DT_F64, SHAPE(21), 1, 2))},
		  r;
	Status st = ev_call(t, args, &r);
	const Diag *d = diag_total(t->c) ? diag_at(t->c, 0) : NULL;
	CHECK(st == ST_ERROR && d && d->span.end == 5 && d->second.source && d->second.end == 1);
	CHECK(ev_failed_with(t, st, ST_ERROR, E_GUARD,
	                     "cannot add f64[n] and f64[m]: n = 20 and m = 21 differ"));
	ev_drop(&args[1], 1);
	args[1] = value_ref(args[0]);
	CHECK(ev_call(t, args, &r) == ST_OK && r.tensor->count == 20);
	ev_drop(&r, 1);
	/* Arguments of other types are rejected. */
	ev_drop(&args[1], 1);
	args[1] = value_f64(1);
	CHECK(ev_failed_with(t, ev_call(t, args, &r), ST_ERROR, E_TYPE,
	                     "argument 2 of f: expected f64[m], found"));
	ev_drop(args, 2);
	fn_unref(t->f);
}

/* g calls f with x; the error in f reports the call. */
static void make_caller(T *t, const void *what) {
	Fn *callee = *(Fn *const *)what;
	t->b = build_begin(t->c, atom(t->c, "g"), 0, NULL);
	SourceId src = source_add(t->c, "call.dsl", "g(x) = f(x)\n", 12);
	build_at(t->b, span_intern(t->c, span_made(src, 7, 11)));
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))),
		y = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), r;
	build_call(t->b, callee, 2, (Ref[]){x, y}, &r);
	t->f = build_end(t->b, 1, &r);
}

static void test_trace(T *t) {
	if (!ev_build_it(t, make_guard, NULL)) return;
	Fn *callee = t->f;
	if (ev_build_it(t, make_caller, &callee)) {
		Value args[2] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(20), 1, 2)),
		                 value_tensor(ev_tensor(t, DT_F64, SHAPE(21), 1, 2))},
			  r;
		Status st = ev_call(t, args, &r);
		const char *trace = diag_total(t->c) ? diag_at(t->c, 0)->trace : NULL;
		CHECK(trace && strstr(trace, "in f, called at call.dsl:1:8"));
		CHECK(ev_failed_with(t, st, ST_ERROR, E_GUARD, NULL));
		ev_drop(args, 2);
		fn_unref(t->f);
	}
	fn_unref(callee);
}

/* ---- dynamic values, effects, host functions ----------------------------- */

static void make_dynamic(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ctx *c = t->c;
	Ref x = ev_param(t, ev_vec(t, DT_F64, 3)), s = ev_param(t, ev_num(t, DT_I64)),
		state = ev_param(t, ev_vec(t, DT_I64, 2)), r[6], d[3];
	Value hole = {.kind = V_UNSET};
	Value items[3] = {value_f64(0.5), hole, hole};
	Value inner = value_seq(c, V_TUPLE, 2, items + 1);
	Value rec =
		value_record(c, 2, (Atom[]){atom(c, "a"), atom(c, "b")}, (Value[]){items[0], inner});
	Ref template = build_const(t->b, rec);
	ev_drop(&inner, 1);
	ev_drop(&rec, 1);
	r[0] = build(t->b, OP_BOX, 3, (Ref[]){template, x, s}, 0, NULL);
	Ref bare = build_const(t->b, hole);
	r[1] = build(t->b, OP_BOX, 2, (Ref[]){bare, x}, 0, NULL);
	r[2] = build(t->b, OP_FORMAT, 3, (Ref[]){s, r[1], r[0]},
	             attr_intern(c, (int64_t[]){atom(c, "{{s}} = {0:05}, {1}|{0}|")}, 1), NULL);
	Ref token = build(t->b, OP_START, 0, NULL, 0, NULL);
	Ref token2 = build(t->b, OP_PRINT, 2, (Ref[]){token, r[2]}, 0, NULL);
	Ref f = build_const(t->b, value_none());
	build(t->b, OP_DYNAMIC, 5, (Ref[]){token2, state, f, r[1], r[0]}, 0, d);
	r[3] = d[1];
	r[4] = d[2];
	TypeId to = ev_vec(t, DT_F64, 3);
	r[5] = build_typed(t->b, OP_UNBOX, 1, &d[2], attr_intern(c, (int64_t[]){to}, 1), 1, &to, NULL);
	t->f = build_end(t->b, 6, r);
}

static Status fake_dynamic(Ctx *c, Value f, uint32_t nargs, Value *args, Value *state,
                           Value *result, SpanId span) {
	(void)f;
	(void)span;
	if (nargs != 2) return ST_INTERNAL;
	Tensor *next = tensor_copy(c, state->tensor);
	if (!next) return ST_NOMEM;
	((int64_t *)(void *)next->data)[1] += 5;
	value_unref(*state);
	*state = value_tensor(next);
	*result = value_ref(args[0]);
	return ST_OK;
}

static void collect(void *ud, const char *text, size_t n) { text_add(ud, text, n); }

static void test_dynamic(T *t) {
	ir_services(t->c)->call_dynamic = fake_dynamic;
	ctx_set_output(t->c, collect, &t->printed);
	Value args[3] = {value_tensor(ev_tensor(t, DT_F64, SHAPE(3), 1, 2)), value_i64(42),
	                 value_tensor(tensor_zeros(t->c, DT_I64, SHAPE(2)))},
		  r[6];
	if (!ev_build_it(t, make_dynamic, NULL)) return;
	CHECK(ev_call(t, args, r) == ST_OK);
	Value b = value_field(r[0], atom(t->c, "b"));
	CHECK(b.kind == V_TUPLE && ((SeqObject *)b.object)->items[0].tensor == args[0].tensor &&
	      ((SeqObject *)b.object)->items[1].i == 42);
	CHECK(value_identical(r[1], args[0]) && value_identical(r[4], args[0]) &&
	      value_identical(r[5], args[0]));
	CHECK(creal(ev_at(r[3].tensor, (int64_t[]){1})) == 5);
	const char *text = ((StringObject *)r[2].object)->text;
	CHECK(!strncmp(text, "{s} = ", 6) && strstr(text, "|42|"));
	CHECK(t->printed.n == strlen(text) + 1 && !strncmp(t->printed.at, text, strlen(text)) &&
	      t->printed.at[t->printed.n - 1] == '\n');
	ev_drop(r, 6);
	ev_drop(args, 3);
	fn_unref(t->f);
	ctx_set_output(t->c, NULL, NULL);
}

static void make_fail(T *t, const void *what) {
	ev_begin(t);
	Value v = value_string(t->c, "no such thing", 13);
	Ref s = build_const(t->b, v);
	ev_drop(&v, 1);
	Ref x = ev_param(t, ev_num(t, DT_BOOL)), r = x;
	OpenRegion *o = build_region_begin(t->b, 0, NULL, NULL);
	build(t->b, OP_FAIL, 1, &s, attr_intern(t->c, (int64_t[]){*(const int *)what}, 1), NULL);
	RegionId yes = build_region_end(t->b, o, 1, &x);
	o = build_region_begin(t->b, 0, NULL, NULL);
	RegionId no = build_region_end(t->b, o, 1, &x);
	build_if(t->b, x, yes, no, &r);
	t->f = build_end(t->b, 1, &r);
}

static void make_unbox(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref x = ev_param(t, type_dyn(t->c)), r;
	TypeId to = type_tensor(t->c, DT_F64, 2, (Dim[]){build_fresh_dim(t->b, 0, 0), ev_len(t, 3)});
	r = build_typed(t->b, OP_UNBOX, 1, &x, attr_intern(t->c, (int64_t[]){to}, 1), 1, &to, NULL);
	t->f = build_end(t->b, 1, &r);
}

static void test_user_errors(T *t) {
	Value yes = value_bool(true), r;
	int code = E_ASSERT;
	CHECK(ev_failed_with(t, ev_once(t, make_fail, &code, &yes, &r), ST_ERROR, E_ASSERT,
	                     "no such thing"));
	Value x = value_f64(1);
	CHECK(ev_failed_with(t, ev_once(t, make_unbox, NULL, &x, &r), ST_ERROR, E_TYPE,
	                     "this value: expected f64["));
	x = value_tensor(ev_tensor(t, DT_F64, SHAPE(20, 4), 0, 1));
	CHECK(ev_failed_with(t, ev_once(t, make_unbox, NULL, &x, &r), ST_ERROR, E_SHAPE, "3]"));
	ev_drop(&x, 1);
	x = value_tensor(ev_tensor(t, DT_F64, SHAPE(20, 3), 0, 1));
	CHECK(ev_once(t, make_unbox, NULL, &x, &r) == ST_OK && value_identical(x, r));
	ev_drop(&r, 1);
	ev_drop(&x, 1);
}

static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)nargs;
	(void)cap;
	(void)call;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}
static Status host_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)nargs;
	(void)nresults;
	if (call->options[0] == 1) return ST_ERROR;
	if (call->options[0] == 2) {
		results[0] = value_f64(3);
		return ST_OK;
	}
	/* The host function runs the evaluator recursively. */
	return ir_services(c)->run(c, call->fns[0], args, results);
}

static void make_square(T *t, const void *what) {
	(void)what;
	ev_begin(t);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))),
		r = build2(t->b, OP_MUL, x, x);
	t->f = build_end(t->b, 1, &r);
}

typedef struct Hosted {
	Fn *fn;
	int64_t option;
} Hosted;
static void make_host(T *t, const void *what) {
	const Hosted *h = what;
	HostDef def = {.name = "square", .types = host_types, .eval = host_eval};
	ev_begin(t);
	Ref x = ev_param(t, ev_vec_of(t, DT_F64, build_fresh_dim(t->b, 0, 0))), r;
	HostId id = host_call_intern(t->c, &def, 1, &h->fn, 1, &h->option);
	build_host(t->b, id, 1, &x, &r, 1);
	t->f = build_end(t->b, 1, &r);
}

static void test_host(T *t) {
	if (!ev_build_it(t, make_square, NULL)) return;
	Hosted h = {.fn = t->f};
	Value x = value_tensor(ev_tensor(t, DT_F64, SHAPE(50), 0, 2)), r;
	CHECK(ev_once(t, make_host, &h, &x, &r) == ST_OK &&
	      ev_off(ev_at(r.tensor, (int64_t[]){7}), cpow(ev_at(x.tensor, (int64_t[]){7}), 2)) <
	          1e-15);
	ev_drop(&r, 1);
	h.option = 1;
	CHECK(ev_failed_with(t, ev_once(t, make_host, &h, &x, &r), ST_ERROR, E_HOST, "square failed"));
	h.option = 2;
	CHECK(ev_failed_with(t, ev_once(t, make_host, &h, &x, &r), ST_ERROR, E_TYPE,
	                     "square: expected f64["));
	ev_drop(&x, 1);
	fn_unref(h.fn);
}

int main(void) {
	static const TestCase tests[] = {
		{"recursion", test_recursion},
		{"while", test_while},
		{"try", test_try},
		{"guard", test_guard},
		{"trace", test_trace},
		{"dynamic", test_dynamic},
		{"user errors", test_user_errors},
		{"host", test_host},
	};
	return ev_run_tests(sizeof tests / sizeof *tests, tests);
}
