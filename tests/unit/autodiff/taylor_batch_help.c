/* taylor_batch_help.c - helpers of the jet and batch tests; see the header.
 *
 * Needs: taylor_batch_help.h.
 */
#include "tests/unit/autodiff/taylor_batch_help.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void jb_show_diags(Test *t) {
	for (uint32_t i = 0; i < diag_total(t->c); i++)
		printf("  %s %s\n", diag_code_id(diag_at(t->c, i)->code), diag_at(t->c, i)->message);
	diag_clear(t->c);
}

void jb_show_fn(const Fn *f) {
	Text text;
	text_init(&text, f->ctx);
	fn_print(&text, f);
	printf("%.*s", (int)text.n, text.at ? text.at : "");
	text_free(&text);
}

/* ---- element-wise derivative rules --------------------------------------- */

/* T stands for the dtype, #1 for the scalar 1 of that dtype. */
static const struct Line {
	Op op;
	const char *text;
} lines[] = {
	{OP_ABS, "fn @abs(%0: T, %1: T) -> (T) { %2: T = sign %0 return %2 }"},
	{OP_SQRT, "fn @sqrt(%0: T, %1: T) -> (T) { %2: T = div #0.5, %1 return %2 }"},
	{OP_CBRT, "fn @cbrt(%0: T, %1: T) -> (T) { %2: T = mul #3, %0 %3: T = div %1, %2 return %3 }"},
	{OP_EXP, "fn @exp(%0: T, %1: T) -> (T) { return %1 }"},
	{OP_EXPM1, "fn @expm1(%0: T, %1: T) -> (T) { %2: T = add %1, #1 return %2 }"},
	{OP_LOG, "fn @log(%0: T, %1: T) -> (T) { %2: T = div #1, %0 return %2 }"},
	{OP_LOG1P,
     "fn @log1p(%0: T, %1: T) -> (T) { %2: T = add #1, %0 %3: T = div #1, %2 return %3 }"},
	{OP_SIN, "fn @sin(%0: T, %1: T) -> (T) { %2: T = cos %0 return %2 }"},
	{OP_COS, "fn @cos(%0: T, %1: T) -> (T) { %2: T = sin %0 %3: T = neg %2 return %3 }"},
	{OP_TAN, "fn @tan(%0: T, %1: T) -> (T) { %2: T = mul %1, %1 %3: T = add #1, %2 return %3 }"},
	{OP_ASIN, "fn @asin(%0: T, %1: T) -> (T) { %2: T = mul %0, %0 %3: T = sub #1, %2 %4: T = sqrt "
              "%3 %5: T = div #1, "
              "%4 return %5 }"},
	{OP_ACOS, "fn @acos(%0: T, %1: T) -> (T) { %2: T = mul %0, %0 %3: T = sub #1, %2 %4: T = sqrt "
              "%3 %5: T = div #-1, "
              "%4 return %5 }"},
	{OP_ATAN, "fn @atan(%0: T, %1: T) -> (T) { %2: T = mul %0, %0 %3: T = add #1, %2 %4: T = div "
              "#1, %3 return %4 }"},
	{OP_SINH, "fn @sinh(%0: T, %1: T) -> (T) { %2: T = cosh %0 return %2 }"},
	{OP_COSH, "fn @cosh(%0: T, %1: T) -> (T) { %2: T = sinh %0 return %2 }"},
	{OP_TANH, "fn @tanh(%0: T, %1: T) -> (T) { %2: T = mul %1, %1 %3: T = sub #1, %2 return %3 }"},
	{OP_ERF,
     "fn @erf(%0: T, %1: T) -> (T) { %2: T = mul %0, %0 %3: T = neg %2 %4: T = exp %3 %5: T = mul "
     "#1.1283791670955126, %4 "
     "return %5 }"},
	{OP_DIV, "fn @div(%0: T, %1: T, %2: T) -> (T, T) { %3: T = div #1, %1 %4: T = div %2, %1 %5: T "
             "= neg %4 return %3, %5 }"},
	{OP_POW, "fn @pow(%0: T, %1: T, %2: T) -> (T, T) { %3: T = sub %1, #1 %4: T = pow %0, %3 %5: T "
             "= mul %1, %4 %6: T = log %0 "
             "%7: T = mul %2, %6 return %5, %7 }"},
	{OP_ATAN2, "fn @atan2(%0: T, %1: T, %2: T) -> (T, T) { %3: T = mul %0, %0 %4: T = mul %1, %1 "
               "%5: T = add %3, %4 "
               "%6: T = div %1, %5 "
               "%7: T = div %0, %5 %8: T = neg %7 return %6, %8 }"},
	{OP_MAX, "fn @max(%0: T, %1: T, %2: T) -> (T, T) { %3: bool = lt %1, %0 %4: bool = eq %0, %1 "
             "%5: T = select %4, #0.5, #0 "
             "%6: T = select %3, #1, %5 %7: T = sub #1, %6 return %6, %7 }"},
	{OP_MIN, "fn @min(%0: T, %1: T, %2: T) -> (T, T) { %3: bool = lt %0, %1 %4: bool = eq %0, %1 "
             "%5: T = select %4, #0.5, #0 "
             "%6: T = select %3, #1, %5 %7: T = sub #1, %6 return %6, %7 }"},
	{OP_MOD, "fn @mod(%0: T, %1: T, %2: T) -> (T, T) { %3: T = floordiv %0, %1 %4: T = neg %3 "
             "return #1, %4 }"},
};

static void put_number(char *out, size_t cap, const char *digits, Dtype d) {
	double x = strtod(digits, NULL);
	if (dtype_is_complex(d))
		snprintf(out, cap, "complex(%.17g, 0.0)%s", x, d == DT_C64 ? ":c64" : "");
	else snprintf(out, cap, x == floor(x) ? "%.1f%s" : "%.17g%s", x, d == DT_F32 ? ":f32" : "");
}

Fn *jb_read_fn(Ctx *c, const char *text) {
	return fn_read(c, source_add(c, "test.ir", text, strlen(text)), NULL);
}

Fn *jb_line_of_calculus(Ctx *c, Op op, Dtype d) {
	Lines *all = ctx_slot(c, SLOT_PARSER);
	for (size_t i = 0; !all->at[op][d] && i < sizeof lines / sizeof *lines; i++) {
		if (lines[i].op != op) continue;
		char text[1000], *to = text;
		for (const char *from = lines[i].text; *from;) {
			size_t room = (size_t)(text + sizeof text - to);
			if (*from == 'T') {
				to += snprintf(to, room, "%s", dtype_name(d));
				from++;
			} else if (*from == '#') {
				char *end;
				strtod(from + 1, &end);
				put_number(to, room, from + 1, d);
				to += strlen(to);
				from = end;
			} else {
				*to++ = *from++;
			}
		}
		*to = 0;
		all->at[op][d] = jb_read_fn(c, text);
	}
	return all->at[op][d];
}

void jb_free_lines(Ctx *c, void *state) {
	(void)c;
	Lines *all = state;
	for (int op = 0; op < OP_COUNT; op++)
		for (int d = 0; d < DT_COUNT; d++)
			if (all->at[op][d]) fn_unref(all->at[op][d]);
	free(all);
}

/* ---- values -------------------------------------------------------------- */

double jb_random_in(Test *t, double lo, double hi) {
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return lo + (hi - lo) * (double)(t->random >> 11) / 9007199254740992.0;
}

Tensor *jb_random_tensor(Test *t, const Fill *fill, Dtype d, uint32_t rank, const int64_t *shape) {
	Tensor *x = tensor_new(t->c, d, rank, shape);
	int64_t n = rank ? shape[rank - 1] : 0;
	bool square = rank >= 2 && shape[rank - 2] == n && fill->diagonal != 0;
	for (int64_t i = 0; i < x->count; i++) {
		double re = jb_random_in(t, fill->lo, fill->hi), im = jb_random_in(t, fill->lo, fill->hi);
		if (square && i / n % n == i % n) re += fill->diagonal * (1 + (double)(i % n) / 2);
		switch (d) {
		case DT_BOOL: ((bool *)x->data)[i] = jb_random_in(t, 0, 1) < 0.5; break;
		case DT_I32:
			((int32_t *)x->data)[i] = (int32_t)jb_random_in(t, 0, (double)fill->ints);
			break;
		case DT_I64:
			((int64_t *)x->data)[i] = (int64_t)jb_random_in(t, 0, (double)fill->ints);
			break;
		case DT_F32: ((float *)x->data)[i] = (float)re; break;
		case DT_F64: ((double *)x->data)[i] = re; break;
		case DT_C64: ((float complex *)x->data)[i] = __builtin_complex((float)re, (float)im); break;
		default: ((double complex *)x->data)[i] = __builtin_complex(re, im); break;
		}
	}
	return x;
}

/* Extents of the symbols of a case, in order. */
static const int64_t lengths[] = {3, 4, 2, 5, 2, 3, 2, 3, 2, 3, 2, 3};

static void shape_of(Test *t, const Type *ty, int64_t *shape) {
	for (uint32_t k = 0; k < ty->rank; k++)
		if (!dim_eval(t->c, ty->dims[k], lengths, 12, &shape[k])) shape[k] = 1;
}

Value jb_random_value(Test *t, const Fill *fill, const Type *ty, int64_t lanes) {
	if (ty->kind == TY_TOKEN) return (Value){.kind = V_TOKEN};
	if (ty->kind == TY_DYN) return value_string(t->c, "text", 4);
	int64_t shape[MAX_RANK + 1] = {lanes};
	uint32_t extra = lanes >= 0;
	shape_of(t, ty, shape + extra);
	return value_from_tensor(jb_random_tensor(t, fill, (Dtype)ty->dtype, ty->rank + extra, shape));
}

Value jb_lane_of(Test *t, Value batched, int64_t lane) {
	Tensor *x = value_to_tensor(t->c, batched);
	Tensor *view =
		tensor_view(t->c, x, x->rank - 1u, x->shape + 1, x->stride + 1, lane * x->stride[0]);
	tensor_unref(x);
	if (!view->rank) { /* scalars are unboxed */
		Tensor *own = tensor_copy(t->c, view);
		tensor_unref(view);
		view = own;
	}
	return value_from_tensor(view);
}

double complex jb_element(const Tensor *x, const int64_t *index) {
	int64_t at = 0;
	double complex z;
	for (uint32_t k = 0; k < x->rank; k++) at += index[k] * x->stride[k];
	scalar_convert((Dtype)x->dtype, x->data + at * (int64_t)dtype_size((Dtype)x->dtype), DT_C128,
	               &z);
	return z;
}

/* Returns the largest difference relative to the largest jb_number (or 1),
 * INFINITY when the shapes differ. */
double jb_difference(Test *t, Value a, Value b) {
	if (!value_is_array(a) || !value_is_array(b)) return value_identical(a, b) ? 0 : INFINITY;
	Tensor *x = value_to_tensor(t->c, a), *y = value_to_tensor(t->c, b);
	double worst = 0, scale = 1;
	if (x->dtype != y->dtype || !tensor_same_shape(x, y)) worst = INFINITY;
	int64_t index[MAX_RANK] = {0};
	for (int64_t i = 0; worst < INFINITY && i < x->count; i++) {
		double complex p = jb_element(x, index), q = jb_element(y, index);
		double far = cabs(p - q);
		if (isnan(creal(p)) && isnan(creal(q))) far = 0;
		if (p == q) far = 0; /* infinities */
		if (!(far <= worst)) worst = isnan(far) ? INFINITY : far;
		if (cabs(p) < INFINITY) scale = fmax(scale, cabs(p));
		for (uint32_t k = x->rank; k-- > 0;) {
			if (++index[k] < x->shape[k]) break;
			index[k] = 0;
		}
	}
	tensor_unref(x);
	tensor_unref(y);
	return worst / scale;
}

double jb_number(Value v) {
	double x = NAN;
	value_as_f64(v, &x);
	return x;
}

void jb_drop(uint32_t n, Value *v) {
	for (uint32_t i = 0; i < n; i++) value_unref(v[i]);
}

bool jb_run(Test *t, Fn *f, const Value *args, Value *results) {
	Code *code = code_of(t->c, f);
	bool good = code && code_call(t->c, code, args, results) == ST_OK;
	if (!good) jb_show_diags(t);
	return good;
}

/* ---- the transforms, protected ------------------------------------------- */

void jb_ask_jet(Ctx *c, void *ud) {
	Ask *q = ud;
	q->out = ad_jet(c, q->f, q->order, false, q->mask, q->flags);
	q->verified = fn_verify(q->out, "ad_jet");
}

void jb_ask_batch(Ctx *c, void *ud) {
	Ask *q = ud;
	q->out = q->partly ? ad_batch_partly(c, q->f, q->mask, q->flags) : ad_batch(c, q->f, q->mask);
	q->verified = fn_verify(q->out, "ad_batch");
}

Fn *jb_protected(Test *t, void (*ask)(Ctx *, void *), Ask *q) {
	uint32_t mark = build_mark(t->c);
	q->out = NULL;
	if (ctx_protect(t->c, ask, q) != ST_OK) {
		build_unwind(t->c, mark);
		return NULL;
	}
	if (!q->verified) {
		jb_show_diags(t);
		jb_show_fn(q->out);
		return NULL;
	}
	return q->out;
}

Fn *jb_jet_of(Test *t, Fn *f, uint32_t order, const bool *active, bool *flags) {
	Fn *out =
		jb_protected(t, jb_ask_jet, &(Ask){.f = f, .order = order, .mask = active, .flags = flags});
	if (!out) jb_show_diags(t);
	return out;
}

Fn *jb_batch_of(Test *t, Fn *f, const bool *batched) {
	Fn *out = jb_protected(t, jb_ask_batch, &(Ask){.f = f, .mask = batched});
	if (!out) jb_show_diags(t);
	return out;
}

Fn *jb_source(Test *t, const char *text) {
	Fn *f = jb_read_fn(t->c, text);
	if (!f) {
		printf("%s\n", text);
		jb_show_diags(t);
	}
	return f;
}

uint32_t jb_count_op(const Fn *f, Op op) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->insts.n; i++) n += f->insts.at[i].op == op;
	return n;
}

/* ---- batches against single calls ---------------------------------------- */

bool jb_same_as_single_calls(Test *t, const char *name, Fn *f, Fn *batched, const bool *mask,
                             const Fill *fill, int64_t lanes, double tolerance) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f);
	Value args[80], single[80], all[80], one[80];
	bool good = true;
	for (uint32_t i = 0; i < n; i++)
		args[i] = jb_random_value(t, fill, ref_ty(f, fn_param(f, i)), mask[i] ? lanes : -1);
	if (!jb_run(t, batched, args, all)) {
		printf("  %s: the batch does not run\n", name);
		jb_drop(n, args);
		return false;
	}
	for (int64_t lane = 0; lane < lanes; lane++) {
		for (uint32_t i = 0; i < n; i++)
			single[i] = mask[i] ? jb_lane_of(t, args[i], lane) : value_ref(args[i]);
		if (!jb_run(t, f, single, one)) {
			printf("  %s: lane %d does not run\n", name, (int)lane);
			jb_drop(n, single);
			good = false;
			break;
		}
		for (uint32_t i = 0; i < m; i++) {
			if (!value_is_array(one[i])) continue;
			Value mine = jb_lane_of(t, all[i], lane);
			double far = jb_difference(t, one[i], mine);
			if (!(far <= tolerance))
				printf("  %s: lane %d of result %u is %g off\n", name, (int)lane, i, far);
			good &= far <= tolerance;
			value_unref(mine);
		}
		jb_drop(m, one);
		jb_drop(n, single);
	}
	jb_drop(m, all);
	jb_drop(n, args);
	return good;
}

/* ---- a host function ----------------------------------------------------- */

static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                           TypeId *out, uint32_t cap) {
	(void)call, (void)nargs, (void)cap;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}

static Status host_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                        uint32_t nresults, Value *results) {
	(void)call, (void)nargs, (void)nresults;
	double z;
	value_as_f64(args[1], &z);
	Tensor *x = value_to_tensor(c, args[0]), *dense = tensor_contiguous(c, x),
		   *y = tensor_new(c, DT_F64, x->rank, x->shape);
	for (int64_t i = 0; i < x->count; i++)
		((double *)y->data)[i] = sin(((double *)dense->data)[i]) * z;
	tensor_unref(x);
	tensor_unref(dense);
	results[0] = value_from_tensor(y);
	return ST_OK;
}

static void host_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                     const Ref *results, const Ref *tangents, Ref *out) {
	(void)results;
	Ctx *c = build_ctx(b);
	TypeId type = ref_type(build_fn(b), args[0]);
	Ref moved = REF_NONE, sine;
	if (tangents[0]) {
		Ref z = build_broadcast_scalar(b, args[1], type);
		moved = build2(b, OP_MUL, build2(b, OP_MUL, build1(b, OP_COS, args[0]), z), tangents[0]);
	}
	if (tangents[1]) {
		build_host(b, host_call_intern(c, call->def, 0, NULL, 0, NULL), nargs,
		           (Ref[]){args[0], build_f64(b, 1)}, &sine, 1);
		Ref by_z = build2(b, OP_MUL, sine, build_broadcast_scalar(b, tangents[1], type));
		moved = moved ? build2(b, OP_ADD, moved, by_z) : by_z;
	}
	out[0] = moved;
}

static void host_batch(Builder *b, const HostCall *call, Dim n, uint32_t nargs, const Ref *args,
                       const bool *batched, Ref *results) {
	(void)call, (void)nargs;
	Type t = *ref_ty(build_fn(b), args[0]);
	Dim shape[2] = {n, batched[0] ? t.dims[1] : t.dims[0]};
	Ref x = batched[0] ? args[0] : build_broadcast(b, args[0], 2, shape, (int[]){1});
	Ref z = build_broadcast(b, args[1], 2, shape, batched[1] ? (int[]){0} : NULL);
	results[0] = build2(b, OP_MUL, build1(b, OP_SIN, x), z);
}

typedef struct HostAsk { /* a function to build */
	bool derivative, batch, scalar;
	Fn *out;
} HostAsk;

static void ask_host_fn(Ctx *c, void *ud) {
	HostAsk *q = ud;
	HostDef def = {.name = "wave",
	               .types = host_types,
	               .eval = host_eval,
	               .jvp = q->derivative ? host_jvp : NULL,
	               .batch = q->batch ? host_batch : NULL};
	Builder *b = build_begin(c, atom(c, "f"), 0, NULL);
	Dim n = build_fresh_dim(b, 0, 0);
	Ref x = build_param(b, type_tensor(c, DT_F64, q->scalar ? 0 : 1, &n), 0),
		z = build_param(b, type_scalar(c, DT_F64), 0), y;
	build_host(b, host_call_intern(c, &def, 0, NULL, 0, NULL), 2, (Ref[]){x, z}, &y, 1);
	q->out = build_end(b, 1, &y);
}

Fn *jb_host_fn(Test *t, bool derivative, bool batch, bool scalar) {
	HostAsk q = {derivative, batch, scalar, NULL};
	CHECK(ctx_protect(t->c, ask_host_fn, &q) == ST_OK);
	return q.out;
}

/* ---- runner -------------------------------------------------------------- */

int jb_run_tests(size_t n, const TestCase *tests) {
	Test t = {.random = 12345};
	setvbuf(stdout, NULL, _IOLBF, 0);
	t.c = ctx_new(NULL);
	if (!t.c || backend_init(t.c) != ST_OK) return 1;
	autodiff_init(t.c);
	ctx_grant(t.c, GRANT_ALL);
	Lines *state = calloc(1, sizeof *state);
	ctx_set_slot(t.c, SLOT_PARSER, state, jb_free_lines);
	ir_services(t.c)->elementwise_rule = jb_line_of_calculus;
	for (size_t i = 0; i < n; i++) {
		check_in(tests[i].name);
		tests[i].run(&t);
	}
	jb_show_diags(&t);
	ctx_free(t.c);
	return check_end();
}
