/* derivative_check.c - the check of derivatives; see derivative_check.h.
 *
 * Needs: derivative_check.h.
 * Guarantees: element-wise derivative rules are built here with the Builder, so
 * that neither the parser nor the library is needed.
 */
#include "tests/unit/autodiff/derivative_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

void show_diags(T *t) {
	for (uint32_t i = 0; i < diag_total(t->c); i++)
		diag_render(t->c, diag_at(t->c, i), false, to_stdout, NULL);
	diag_clear(t->c);
}

/* Uniform in [lo, hi): a 64-bit linear congruential generator, high bits. */
double uniform(T *t, double lo, double hi) {
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return lo + (hi - lo) * (double)(t->random >> 11) / 9007199254740992.0;
}

/* ---- element-wise derivative rules --------------------------------------- */

static Ref splat(Builder *b, Ref like, double x) {
	return build_full(b, ref_type(build_fn(b), like), x);
}
Ref mul(Builder *b, Ref x, Ref y) { return build2(b, OP_MUL, x, y); }
Ref add(Builder *b, Ref x, Ref y) { return build2(b, OP_ADD, x, y); }
Ref sub(Builder *b, Ref x, Ref y) { return build2(b, OP_SUB, x, y); }
static Ref divide(Builder *b, Ref x, Ref y) { return build2(b, OP_DIV, x, y); }
static Ref inverse(Builder *b, Ref x) { return divide(b, splat(b, x, 1), x); }

static Ref share(Builder *b, Op less, Ref x, Ref y) {
	Ref first = less == OP_MAX ? build2(b, OP_LT, y, x) : build2(b, OP_LT, x, y);
	return build_select(b, first, splat(b, x, 1),
	                    build_select(b, build2(b, OP_EQ, x, y), splat(b, x, 0.5), splat(b, x, 0)));
}

static bool write_rule(Builder *b, Op op, const Ref *x, Ref y, Ref *d) {
	Ref one = splat(b, y, 1);
	switch (op) {
	case OP_ABS: d[0] = build1(b, OP_SIGN, x[0]); break;
	case OP_SQRT: d[0] = divide(b, splat(b, y, 0.5), y); break;
	case OP_CBRT: d[0] = inverse(b, mul(b, splat(b, y, 3), mul(b, y, y))); break;
	case OP_EXP: d[0] = y; break;
	case OP_EXPM1: d[0] = add(b, y, one); break;
	case OP_LOG: d[0] = inverse(b, x[0]); break;
	case OP_LOG1P: d[0] = inverse(b, add(b, one, x[0])); break;
	case OP_SIN: d[0] = build1(b, OP_COS, x[0]); break;
	case OP_COS: d[0] = build1(b, OP_NEG, build1(b, OP_SIN, x[0])); break;
	case OP_TAN: d[0] = add(b, one, mul(b, y, y)); break;
	case OP_ASIN: d[0] = inverse(b, build1(b, OP_SQRT, sub(b, one, mul(b, x[0], x[0])))); break;
	case OP_ACOS:
		d[0] = build1(b, OP_NEG, inverse(b, build1(b, OP_SQRT, sub(b, one, mul(b, x[0], x[0])))));
		break;
	case OP_ATAN: d[0] = inverse(b, add(b, one, mul(b, x[0], x[0]))); break;
	case OP_SINH: d[0] = build1(b, OP_COSH, x[0]); break;
	case OP_COSH: d[0] = build1(b, OP_SINH, x[0]); break;
	case OP_TANH: d[0] = sub(b, one, mul(b, y, y)); break;
	case OP_ERF:
		d[0] = mul(b, splat(b, y, 2 / sqrt(M_PI)),
		           build1(b, OP_EXP, build1(b, OP_NEG, mul(b, x[0], x[0]))));
		break;
	case OP_DIV:
		d[0] = inverse(b, x[1]);
		d[1] = build1(b, OP_NEG, divide(b, y, x[1]));
		break;
	case OP_POW:
		d[0] = mul(b, x[1], build2(b, OP_POW, x[0], sub(b, x[1], one)));
		d[1] = mul(b, y, build1(b, OP_LOG, x[0]));
		break;
	case OP_ATAN2: {
		Ref square = add(b, mul(b, x[0], x[0]), mul(b, x[1], x[1]));
		d[0] = divide(b, x[1], square);
		d[1] = build1(b, OP_NEG, divide(b, x[0], square));
		break;
	}
	case OP_MAX:
	case OP_MIN:
		d[0] = share(b, op, x[0], x[1]);
		d[1] = share(b, op, x[1], x[0]);
		break;
	case OP_MOD:
		d[0] = one;
		d[1] = build1(b, OP_NEG, build1(b, OP_FLOOR, divide(b, x[0], x[1])));
		break;
	default: return false;
	}
	return true;
}

static Fn *elementwise_rule(Ctx *c, Op op, Dtype d) {
	T *t = ctx_slot(c, SLOT_API);
	if (t->rules[op][d]) return t->rules[op][d];
	Builder *b = build_begin(c, atom_f(c, "calculus.%s", prims[op].name), 0, NULL);
	Ref x[2], out[2];
	TypeId number = type_scalar(c, d);
	for (int k = 0; k < prims[op].nargs; k++) x[k] = build_param(b, number, 0);
	Ref y = build_param(b, number, 0);
	if (!write_rule(b, op, x, y, out)) {
		build_abandon(b);
		return NULL;
	}
	return t->rules[op][d] = build_end(b, (uint32_t)prims[op].nargs, out);
}

static Fn *structural_rule(Ctx *c, const Fn *f, const Inst *in) {
	T *t = ctx_slot(c, SLOT_API);
	(void)f;
	if (!t->rule || in->op != OP_CALL || (FnId)attr_int(c, OP_CALL, in->attr, 0) != t->ruled->id)
		return NULL;
	fn_ref(t->rule);
	return t->rule;
}

/* ---- values as flat arrays of reals -------------------------------------- */

static uint32_t width(Dtype d) { return dtype_is_complex(d) ? 2 : 1; }

/* Writes every real and imaginary part in row-major order and returns their
 * number. */
size_t flatten(T *t, Value v, double *out) {
	Tensor *x = value_to_tensor(t->c, v), *flat = tensor_contiguous(t->c, x);
	Dtype d = (Dtype)flat->dtype;
	size_t n = (size_t)flat->count * width(d);
	for (size_t i = 0; out && i < n; i++) {
		switch (d) {
		case DT_F64:
		case DT_C128: out[i] = ((const double *)flat->data)[i]; break;
		case DT_F32:
		case DT_C64: out[i] = (double)((const float *)flat->data)[i]; break;
		default: out[i] = 0;
		}
	}
	tensor_unref(flat);
	tensor_unref(x);
	return n;
}

/* Returns a value of v's type and shape with these elements. */
Value shaped(T *t, Value v, const double *numbers) {
	Tensor *x = value_to_tensor(t->c, v);
	Tensor *y = tensor_new(t->c, (Dtype)x->dtype, x->rank, x->shape);
	Dtype d = (Dtype)x->dtype;
	for (size_t i = 0; i < (size_t)x->count * width(d); i++) {
		if (d == DT_F64 || d == DT_C128) ((double *)y->data)[i] = numbers[i];
		else ((float *)y->data)[i] = (float)numbers[i];
	}
	tensor_unref(x);
	return value_from_tensor(y);
}

static bool is_active(Value v) { return value_is_array(v) && dtype_is_inexact(value_dtype(v)); }

static Value random_like(T *t, Value v) {
	size_t n = flatten(t, v, NULL);
	double *x = malloc((n + 1) * sizeof *x);
	for (size_t i = 0; i < n; i++) x[i] = uniform(t, -1, 1);
	Value out = shaped(t, v, x);
	free(x);
	return out;
}

static Value moved(T *t, Value v, Value by, double h) {
	size_t n = flatten(t, v, NULL);
	double *x = malloc((n + 1) * sizeof *x), *d = malloc((n + 1) * sizeof *d);
	flatten(t, v, x);
	flatten(t, by, d);
	for (size_t i = 0; i < n; i++) x[i] += h * d[i];
	Value out = shaped(t, v, x);
	free(x);
	free(d);
	return out;
}

static void add_scaled(T *t, Value v, double by, double *sum) {
	size_t n = flatten(t, v, NULL);
	double *x = malloc((n + 1) * sizeof *x);
	flatten(t, v, x);
	for (size_t i = 0; i < n; i++) sum[i] += by * x[i];
	free(x);
}

static double largest(T *t, Value v) {
	size_t n = flatten(t, v, NULL);
	double *x = malloc((n + 1) * sizeof *x), most = 0;
	flatten(t, v, x);
	for (size_t i = 0; i < n; i++) most = isnan(x[i]) ? HUGE_VAL : fmax(most, fabs(x[i]));
	free(x);
	return most;
}

static double difference(T *t, Value a, Value b) {
	size_t n = flatten(t, a, NULL);
	if (n != flatten(t, b, NULL)) return HUGE_VAL;
	double *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y), most = 0;
	flatten(t, a, x);
	flatten(t, b, y);
	for (size_t i = 0; i < n; i++)
		most = isnan(x[i] - y[i]) ? HUGE_VAL : fmax(most, fabs(x[i] - y[i]));
	free(x);
	free(y);
	return most;
}

/* Returns Re sum conj(a) b; adds sum |a| |b| to *scale. */
static double pairing(T *t, Value a, Value b, double *scale) {
	size_t n = flatten(t, a, NULL);
	if (n != flatten(t, b, NULL)) return HUGE_VAL;
	double *x = malloc((n + 1) * sizeof *x), *y = malloc((n + 1) * sizeof *y), sum = 0;
	flatten(t, a, x);
	flatten(t, b, y);
	for (size_t i = 0; i < n; i++) {
		sum += x[i] * y[i];
		*scale += fabs(x[i] * y[i]);
	}
	free(x);
	free(y);
	return sum;
}

void release(uint32_t n, Value *v) {
	for (uint32_t i = 0; i < n; i++) value_unref(v[i]);
}

/* ---- the check ----------------------------------------------------------- */

const Bounds usual = {2e-3, 1e-11, 1e-13, 1e-13};

bool run(T *t, Fn *f, const Value *args, Value *results) {
	Status s = ir_services(t->c)->run(t->c, f, args, results);
	if (s == ST_OK) return true;
	CHECK_MSG(false, "running %s ends with status %d", atom_text(t->c, f->name), s);
	show_diags(t);
	return false;
}

/* Returns (parameters of f, a cotangent for each active result) -> cotangents
 * of the active parameters. */
Fn *reverse_of(T *t, Fn *f, const bool *active) {
	const Linearised *l = ad_linearise(t->c, f, active);
	Fn *back = ad_transpose(t->c, l->linear, l->nresiduals);
	Builder *b = build_begin(t->c, atom_f(t->c, "%s.vjp", atom_text(t->c, f->name)), 0, f);
	Ref args[MOST], values[MOST], in[MOST], out[MOST];
	uint32_t n = fn_nparams(f), m = fn_nresults(f), at = 0;
	for (uint32_t k = 0; k < n; k++) args[k] = build_param(b, ref_type(f, fn_param(f, k)), 0);
	uint32_t first = n;
	for (uint32_t k = 0; k < m; k++)
		if (l->result_active[k]) args[n++] = build_param(b, ref_type(f, fn_result(f, k)), 0);
	build_call(b, l->primal, first, args, values);
	for (uint32_t k = 0; k < l->nresiduals; k++) in[at++] = values[m + k];
	for (uint32_t k = first; k < n; k++) in[at++] = args[k];
	build_call(b, back, at, in, out);
	return build_end(b, fn_nresults(back), out);
}

static double numeric_jvp(T *t, Fn *f, const Bounds *bounds, const Value *args, const Value *dx,
                          uint32_t result, Value found) {
	static const double weight[4] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
	uint32_t n = fn_nparams(f), m = fn_nresults(f);
	size_t size = flatten(t, found, NULL);
	double *sum = calloc(size + 1, sizeof *sum), worst = 0, scale = 1;
	for (int k = 1; k <= 4; k++) {
		for (int side = -1; side <= 1; side += 2) {
			Value at[MOST], y[MOST];
			for (uint32_t i = 0; i < n; i++)
				at[i] = dx[i].kind != V_UNSET ? moved(t, args[i], dx[i], side * k * bounds->step)
				                              : value_ref(args[i]);
			bool ran = run(t, f, at, y);
			release(n, at);
			if (!ran) {
				free(sum);
				return HUGE_VAL;
			}
			if (flatten(t, y[result], NULL) != size) worst = HUGE_VAL;
			else add_scaled(t, y[result], side * weight[k - 1] / bounds->step, sum);
			scale = fmax(scale, largest(t, y[result]));
			release(m, y);
		}
	}
	double *x = malloc((size + 1) * sizeof *x);
	flatten(t, found, x);
	for (size_t i = 0; i < size; i++) {
		worst = isnan(sum[i] - x[i]) ? HUGE_VAL : fmax(worst, fabs(sum[i] - x[i]));
		scale = fmax(scale, fabs(x[i]));
	}
	free(x);
	free(sum);
	return worst / scale;
}

static bool near(T *t, Value a, Value b, const Bounds *bounds) {
	return value_identical(a, b) || difference(t, a, b) <= bounds->agree * fmax(1, largest(t, b));
}

static void check_function(T *t, Fn *f, const Value *args, uint32_t order, const Bounds *bounds,
                           const char *path) {
	uint32_t n = fn_nparams(f), m = fn_nresults(f), nactive = 0;
	bool active[MOST] = {false}, moves[MOST];
	Value dx[MOST], in[MOST], y[MOST], out[MOST], w[MOST];
	for (uint32_t k = 0; k < n; k++) {
		active[k] = is_active(args[k]);
		dx[k] = active[k] ? random_like(t, args[k]) : (Value){0};
		nactive += active[k];
	}
	Fn *jvp = ad_jvp(t->c, f, active, moves);
	uint32_t at = n;
	memcpy(in, args, n * sizeof *in);
	for (uint32_t k = 0; k < n; k++)
		if (active[k]) in[at++] = dx[k];
	if (!run(t, jvp, in, y)) goto no_jvp;
	uint32_t nmoves = 0;
	for (uint32_t k = 0; k < m; k++) {
		if (!moves[k]) continue;
		double e = numeric_jvp(t, f, bounds, args, dx, k, y[m + nmoves++]);
		CHECK_MSG(e <= bounds->difference, "%s jvp of result %u is off by %.2g", path, k, e);
	}
	if (order > 1) check_function(t, jvp, in, order - 1, bounds, "jvp,");

	const Linearised *l = ad_linearise(t->c, f, active);
	Fn *back = ad_transpose(t->c, l->linear, l->nresiduals);
	if (!run(t, l->primal, args, out)) goto no_primal;
	for (uint32_t k = 0; k < m; k++)
		CHECK_MSG(!is_active(out[k]) || near(t, out[k], y[k], bounds),
		          "%s primal result %u differs", path, k);
	memcpy(in, out + m, l->nresiduals * sizeof *in);
	at = l->nresiduals;
	for (uint32_t k = 0; k < n; k++)
		if (active[k]) in[at++] = dx[k];
	Value linear[MOST], ct[MOST];
	if (run(t, l->linear, in, linear)) {
		double left = 0, right = 0, scale = 1e-300;
		for (uint32_t k = 0; k < nmoves; k++) {
			CHECK_MSG(near(t, linear[k], y[m + k], bounds), "%s linear result %u is off by %.2g",
			          path, k, difference(t, linear[k], y[m + k]));
			w[k] = random_like(t, linear[k]);
			left += pairing(t, w[k], linear[k], &scale);
			in[l->nresiduals + k] = w[k];
		}
		if (run(t, back, in, ct)) {
			for (uint32_t k = 0, j = 0; k < n; k++)
				if (active[k]) right += pairing(t, ct[j++], dx[k], &scale);
			CHECK_MSG(fabs(left - right) <= bounds->pairing * scale,
			          "%s <w, J dx> = %.17g, <J^T w, dx> = %.17g", path, left, right);
			release(nactive, ct);
			if (order > 1) {
				Fn *vjp = reverse_of(t, f, active);
				memcpy(in, args, n * sizeof *in);
				memcpy(in + n, w, nmoves * sizeof *in);
				check_function(t, vjp, in, order - 1, bounds, "vjp,");
				fn_unref(vjp);
			}
		}
		release(nmoves, w);
		release(nmoves, linear);
	}
	release(m + l->nresiduals, out);
no_primal:
	release(m + nmoves, y);
no_jvp:
	for (uint32_t k = 0; k < n; k++) value_unref(dx[k]);
}

typedef struct Case {
	T *t;
	Fn *f;
	const Value *args;
	uint32_t order;
	const Bounds *bounds;
} Case;

static void run_case(Ctx *c, void *arg) {
	Case *k = arg;
	(void)c;
	check_function(k->t, k->f, k->args, k->order, k->bounds, "");
}

/* Checks f at args; releases both. */
void check_all(T *t, Fn *f, uint32_t n, Value *args, uint32_t order, const Bounds *bounds) {
	Case k = {t, f, args, order, bounds};
	uint32_t mark = build_mark(t->c);
	if (ctx_protect(t->c, run_case, &k) != ST_OK) {
		build_unwind(t->c, mark);
		CHECK_MSG(false, "a transform failed");
		show_diags(t);
	}
	release(n, args);
	fn_unref(f);
}

/* ---- program construction ------------------------------------------------ */

Dim len(T *t, int64_t n) { return dim_const(t->c, n); }
TypeId num(T *t) { return type_scalar(t->c, DT_F64); }
TypeId vec(T *t, Dim n) { return type_tensor(t->c, DT_F64, 1, &n); }
TypeId mat(T *t, Dim m, Dim n) { return type_tensor(t->c, DT_F64, 2, (Dim[]){m, n}); }
Dim sym(T *t, const char *name) { return build_fresh_dim(t->b, atom(t->c, name), 0); }
Ref param(T *t, TypeId type, const char *name) { return build_param(t->b, type, atom(t->c, name)); }

void begin(T *t, const char *name) {
	t->name = name;
	t->b = build_begin(t->c, atom(t->c, name), span_intern(t->c, NO_SPAN), NULL);
}

Fn *end(T *t, uint32_t n, const Ref *results) {
	Fn *f = build_end(t->b, n, results);
	t->b = NULL;
	return f;
}
Fn *end1(T *t, Ref r) { return end(t, 1, &r); }

Value array(T *t, Dtype d, uint32_t rank, const int64_t *shape, double lo, double hi) {
	Tensor *x = tensor_zeros(t->c, d, rank, shape);
	Value zeros = value_from_tensor(x);
	size_t n = flatten(t, zeros, NULL);
	double *numbers = malloc((n + 1) * sizeof *numbers);
	for (size_t i = 0; i < n; i++) numbers[i] = uniform(t, lo, hi);
	Value out = shaped(t, zeros, numbers);
	free(numbers);
	value_unref(zeros);
	return out;
}
Value vector(T *t, int64_t n, double lo, double hi) { return array(t, DT_F64, 1, &n, lo, hi); }
Value matrix(T *t, int64_t m, int64_t n) { return array(t, DT_F64, 2, (int64_t[]){m, n}, -1, 1); }
Value number(T *t, double lo, double hi) { return value_f64(uniform(t, lo, hi)); }

Value numbers(T *t, int64_t n, const double *x) {
	Value zeros = vector(t, n, 0, 0), out = shaped(t, zeros, x);
	value_unref(zeros);
	return out;
}

Value integers(T *t, int64_t n, const int64_t *x) {
	Tensor *y = tensor_new(t->c, DT_I64, 1, &n);
	memcpy(y->data, x, (size_t)n * sizeof *x);
	return value_from_tensor(y);
}

Ref constant(T *t, Value v) {
	Ref r = build_const(t->b, v);
	value_unref(v);
	return r;
}

Ref total(T *t, Ref x) {
	int axes[MAX_RANK];
	uint32_t rank = ref_ty(build_fn(t->b), x)->rank;
	for (uint32_t k = 0; k < rank; k++) axes[k] = (int)k;
	return build_reduce(t->b, OP_REDUCE_SUM, x, rank, axes);
}

Ref with_ints(T *t, Op op, Ref x, uint32_t n, const int64_t *words) {
	return build(t->b, op, 1, &x, attr_intern(t->c, words, n), NULL);
}

/* Halves x until it is small and squares on the way: the trip count depends on
 * the data. */
Ref shrink(T *t, Ref x, Ref weight) {
	Builder *b = t->b;
	TypeId types[2] = {num(t), num(t)};
	Ref p[2], r[2];
	OpenRegion *open = build_region_begin(b, 2, types, p);
	RegionId cond = build_region_end(
		b, open, 1, (Ref[]){build2(b, OP_LT, build_f64(b, 0.3), build1(b, OP_ABS, p[0]))});
	open = build_region_begin(b, 2, types, p);
	Ref half =
		mul(b, mul(b, p[0], build_f64(b, 0.6)), build1(b, OP_COS, mul(b, p[0], build_f64(b, 0.1))));
	Ref squared = mul(b, mul(b, p[1], p[1]), build_f64(b, 0.25));
	RegionId body =
		build_region_end(b, open, 2, (Ref[]){half, add(b, squared, mul(b, weight, half))});
	build_while(b, 2, (Ref[]){x, weight}, cond, body, r);
	return r[1];
}

Ref first_of(T *t, Ref x) { return build_gather(t->b, x, build_i64(t->b, 0), 0, 0); }
Ref element(T *t, Ref x, Ref i) { return build_gather(t->b, x, i, 0, 0); }

/* ---- errors -------------------------------------------------------------- */

typedef struct Attempt {
	Fn *f;
	bool reverse;
} Attempt;
static void attempt(Ctx *c, void *arg) {
	Attempt *a = arg;
	bool active[8] = {true, true, true, true, true, true, true, true};
	if (!a->reverse) {
		ad_jvp(c, a->f, active, NULL);
		return;
	}
	const Linearised *l = ad_linearise(c, a->f, active);
	ad_transpose(c, l->linear, l->nresiduals);
}

/* Tries twice, because leftovers of a failure must not be taken for a result.
 * Releases f. */
void expect_error(T *t, Fn *f, bool reverse, DiagCode code, const char *words, const char *file,
                  int line) {
	for (int round = 0; round < 2; round++) {
		Attempt a = {f, reverse};
		uint32_t mark = build_mark(t->c);
		Status s = ctx_protect(t->c, attempt, &a);
		build_unwind(t->c, mark);
		const Diag *d = diag_total(t->c) ? diag_at(t->c, 0) : NULL;
		bool good = s == ST_ERROR && d && d->code == code && strstr(d->message, words);
		check_msg_at(good, "the error", file, line, "expected an error with \"%s\", got \"%s\"",
		             words, d ? d->message : "none");
		diag_clear(t->c);
	}
	fn_unref(f);
}

/* ---- runner -------------------------------------------------------------- */

typedef struct Running {
	T *t;
	void (*test)(T *t);
} Running;

static void run_test(Ctx *c, void *arg) {
	Running *r = arg;
	(void)c;
	r->test(r->t);
}

int run_tests(const Named *tests, uint32_t n, const char *word) {
	for (uint32_t i = 0; i < n; i++) {
		if (word && !strstr(tests[i].name, word)) continue;
		Ctx *c = ctx_new(NULL);
		T t = {.c = c, .name = tests[i].name, .random = 12345 + i};
		check_in(tests[i].name);
		ctx_set_slot(c, SLOT_API, &t, NULL);
		backend_init(c);
		if (!getenv("ATLED_NATIVE")) backend_set_native(c, NATIVE_OFF);
		autodiff_init(c);
		ir_services(c)->elementwise_rule = elementwise_rule;
		ir_services(c)->structural_rule = structural_rule;
		Running r = {&t, tests[i].test};
		if (ctx_protect(c, run_test, &r) != ST_OK) {
			CHECK_MSG(false, "stopped");
			show_diags(&t);
		}
		ctx_free(c);
	}
	return check_end();
}
