/* test_autodiff.c - derivatives against high-order differences, reverse mode against forward mode, at first and second order, for
 * every primitive that has a rule and through all control flow.
 *
 * Needs: lang/, autodiff/, backend/ (the evaluator runs what the transforms make). The lines of calculus come from here, built with the
 * Builder. Prints "N passed, N failed"; the exit status is 0 when nothing failed.
 *
 * The check of a function f at a point:
 *   jvp        against the eighth-order central difference along a random direction
 *   linearise  primal results and residuals, then the linear part: the same results and tangents as the jvp
 *   transpose  <w, J dx> = <J^T w, dx>
 * and the same for its jvp and its vjp as functions of their own, which gives forward over forward, reverse over forward, forward over
 * reverse and reverse over reverse.
 */
#include "autodiff/autodiff.h"
#include "backend/code.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Tally {
	uint32_t passed, failed;
} Tally;

typedef struct T { /* what one test has at hand */
	Tally *tally;
	Ctx *c;
	Builder *b;
	const char *name;
	uint64_t random;
	Fn *rules[OP_COUNT][DT_COUNT];
	Fn *ruled;         /* calls of this function have a written rule ... */
	Fn *rule;          /* ... which is this */
	Atom ruled_name;
} T;

static void check_at(T *t, bool good, int line, const char *format, ...) __attribute__((format(printf, 4, 5)));
static void check_at(T *t, bool good, int line, const char *format, ...) {
	if (good) {
		t->tally->passed++;
		return;
	}
	t->tally->failed++;
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	printf("test_autodiff.c:%d: %s: %s\n", line, t->name, text);
}
#define CHECK(t, x) check_at((t), (x), __LINE__, "%s", #x)

static void to_stdout(void *ud, const char *text, size_t n) {
	(void)ud;
	fwrite(text, 1, n, stdout);
}

static void show_diags(T *t) {
	for (uint32_t i = 0; i < diag_total(t->c); i++) diag_render(t->c, diag_at(t->c, i), false, to_stdout, NULL);
	diag_clear(t->c);
}

/* Uniform in [lo, hi): a 64-bit linear congruential step, high bits. */
static double uniform(T *t, double lo, double hi) {
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return lo + (hi - lo) * (double)(t->random >> 11) / 9007199254740992.0;
}

/* ---- lines of calculus -------------------------------------------------------------------------------------------------------- */

static Ref splat(Builder *b, Ref like, double x) { return build_full(b, ref_type(build_fn(b), like), x); }
static Ref mul(Builder *b, Ref x, Ref y) { return build2(b, OP_MUL, x, y); }
static Ref add(Builder *b, Ref x, Ref y) { return build2(b, OP_ADD, x, y); }
static Ref sub(Builder *b, Ref x, Ref y) { return build2(b, OP_SUB, x, y); }
static Ref divide(Builder *b, Ref x, Ref y) { return build2(b, OP_DIV, x, y); }
static Ref inverse(Builder *b, Ref x) { return divide(b, splat(b, x, 1), x); }

static Ref share(Builder *b, Op less, Ref x, Ref y) {
	Ref first = less == OP_MAX ? build2(b, OP_LT, y, x) : build2(b, OP_LT, x, y);
	return build_select(b, first, splat(b, x, 1), build_select(b, build2(b, OP_EQ, x, y), splat(b, x, 0.5), splat(b, x, 0)));
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
	case OP_ACOS: d[0] = build1(b, OP_NEG, inverse(b, build1(b, OP_SQRT, sub(b, one, mul(b, x[0], x[0]))))); break;
	case OP_ATAN: d[0] = inverse(b, add(b, one, mul(b, x[0], x[0]))); break;
	case OP_SINH: d[0] = build1(b, OP_COSH, x[0]); break;
	case OP_COSH: d[0] = build1(b, OP_SINH, x[0]); break;
	case OP_TANH: d[0] = sub(b, one, mul(b, y, y)); break;
	case OP_ERF: d[0] = mul(b, splat(b, y, 2 / sqrt(M_PI)), build1(b, OP_EXP, build1(b, OP_NEG, mul(b, x[0], x[0])))); break;
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
	if (!t->rule || in->op != OP_CALL || (FnId)attr_int(c, OP_CALL, in->attr, 0) != t->ruled->id) return NULL;
	fn_ref(t->rule);
	return t->rule;
}

/* ---- values as flat numbers ------------------------------------------------------------------------------------------------------ */

static uint32_t width(Dtype d) { return dtype_is_complex(d) ? 2 : 1; }

/* Every real and imaginary part in row-major order; returns how many. */
static size_t flatten(T *t, Value v, double *out) {
	Tensor *x = value_to_tensor(t->c, v), *flat = tensor_contiguous(t->c, x);
	Dtype d = (Dtype)flat->dtype;
	size_t n = (size_t)flat->count * width(d);
	for (size_t i = 0; out && i < n; i++) {
		switch (d) {
		case DT_F64: case DT_C128: out[i] = ((const double *)flat->data)[i]; break;
		case DT_F32: case DT_C64: out[i] = (double)((const float *)flat->data)[i]; break;
		default: out[i] = 0;
		}
	}
	tensor_unref(flat);
	tensor_unref(x);
	return n;
}

/* A value of v's type and shape with these numbers. */
static Value shaped(T *t, Value v, const double *numbers) {
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
	for (size_t i = 0; i < n; i++) most = isnan(x[i] - y[i]) ? HUGE_VAL : fmax(most, fabs(x[i] - y[i]));
	free(x);
	free(y);
	return most;
}

/* Re sum conj(a) b; adds sum |a| |b| to *scale. */
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

static void release(uint32_t n, Value *v) {
	for (uint32_t i = 0; i < n; i++) value_unref(v[i]);
}

/* ---- the check ----------------------------------------------------------------------------------------------------------------------- */

typedef struct Bounds {
	double step, difference, agree, pairing;
} Bounds;
static const Bounds usual = {2e-3, 1e-11, 1e-13, 1e-13};

static bool run(T *t, Fn *f, const Value *args, Value *results) {
	Status s = ir_services(t->c)->run(t->c, f, args, results);
	if (s == ST_OK) return true;
	check_at(t, false, __LINE__, "running %s ends with status %d", atom_text(t->c, f->name), s);
	show_diags(t);
	return false;
}

enum { MOST = 1000 };

/* (parameters of f, a cotangent for each active result) -> cotangents of the active parameters. */
static Fn *vjp_of(T *t, Fn *f, const bool *active) {
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

static double numeric_jvp(T *t, Fn *f, const Bounds *bounds, const Value *args, const Value *dx, uint32_t result, Value found) {
	static const double weight[4] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
	uint32_t n = fn_nparams(f), m = fn_nresults(f);
	size_t size = flatten(t, found, NULL);
	double *sum = calloc(size + 1, sizeof *sum), worst = 0, scale = 1;
	for (int k = 1; k <= 4; k++) {
		for (int side = -1; side <= 1; side += 2) {
			Value at[MOST], y[MOST];
			for (uint32_t i = 0; i < n; i++)
				at[i] = dx[i].kind != V_UNSET ? moved(t, args[i], dx[i], side * k * bounds->step) : value_ref(args[i]);
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

static void check_function(T *t, Fn *f, const Value *args, uint32_t order, const Bounds *bounds, const char *path) {
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
		check_at(t, e <= bounds->difference, __LINE__, "%s jvp of result %u is off by %.2g", path, k, e);
	}
	if (order > 1) check_function(t, jvp, in, order - 1, bounds, "jvp,");

	const Linearised *l = ad_linearise(t->c, f, active);
	Fn *back = ad_transpose(t->c, l->linear, l->nresiduals);
	if (!run(t, l->primal, args, out)) goto no_primal;
	for (uint32_t k = 0; k < m; k++)
		check_at(t, !is_active(out[k]) || value_identical(out[k], y[k]) || difference(t, out[k], y[k]) <= bounds->agree * fmax(1, largest(t, y[k])),
		         __LINE__, "%s primal result %u differs", path, k);
	memcpy(in, out + m, l->nresiduals * sizeof *in);
	at = l->nresiduals;
	for (uint32_t k = 0; k < n; k++)
		if (active[k]) in[at++] = dx[k];
	Value linear[MOST], ct[MOST];
	if (run(t, l->linear, in, linear)) {
		double left = 0, right = 0, scale = 1e-300;
		for (uint32_t k = 0; k < nmoves; k++) {
			double e = difference(t, linear[k], y[m + k]);
			check_at(t, e <= bounds->agree * fmax(1, largest(t, y[m + k])), __LINE__, "%s linear result %u is off by %.2g", path, k, e);
			w[k] = random_like(t, linear[k]);
			left += pairing(t, w[k], linear[k], &scale);
			in[l->nresiduals + k] = w[k];
		}
		if (run(t, back, in, ct)) {
			for (uint32_t k = 0, j = 0; k < n; k++)
				if (active[k]) right += pairing(t, ct[j++], dx[k], &scale);
			check_at(t, fabs(left - right) <= bounds->pairing * scale, __LINE__, "%s <w, J dx> = %.17g, <J^T w, dx> = %.17g", path, left, right);
			release(nactive, ct);
			if (order > 1) {
				Fn *vjp = vjp_of(t, f, active);
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

/* Checks f at args, both of which it releases. */
static void check_all(T *t, Fn *f, uint32_t n, Value *args, uint32_t order, const Bounds *bounds) {
	Case k = {t, f, args, order, bounds};
	uint32_t mark = build_mark(t->c);
	if (ctx_protect(t->c, run_case, &k) != ST_OK) {
		build_unwind(t->c, mark);
		check_at(t, false, __LINE__, "a transform failed");
		show_diags(t);
	}
	release(n, args);
	fn_unref(f);
}

/* ---- words for programs ------------------------------------------------------------------------------------------------------------------- */

static Dim len(T *t, int64_t n) { return dim_const(t->c, n); }
static TypeId num(T *t) { return type_scalar(t->c, DT_F64); }
static TypeId vec(T *t, Dim n) { return type_tensor(t->c, DT_F64, 1, &n); }
static TypeId mat(T *t, Dim m, Dim n) { return type_tensor(t->c, DT_F64, 2, (Dim[]){m, n}); }
static Dim sym(T *t, const char *name) { return build_fresh_dim(t->b, atom(t->c, name), 0); }
static Ref param(T *t, TypeId type, const char *name) { return build_param(t->b, type, atom(t->c, name)); }

static void begin(T *t, const char *name) {
	t->name = name;
	t->b = build_begin(t->c, atom(t->c, name), span_intern(t->c, NO_SPAN), NULL);
}

static Fn *end(T *t, uint32_t n, const Ref *results) {
	Fn *f = build_end(t->b, n, results);
	t->b = NULL;
	return f;
}
static Fn *end1(T *t, Ref r) { return end(t, 1, &r); }

static Value array(T *t, Dtype d, uint32_t rank, const int64_t *shape, double lo, double hi) {
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
static Value vector(T *t, int64_t n, double lo, double hi) { return array(t, DT_F64, 1, &n, lo, hi); }
static Value matrix(T *t, int64_t m, int64_t n) { return array(t, DT_F64, 2, (int64_t[]){m, n}, -1, 1); }
static Value number(T *t, double lo, double hi) { return value_f64(uniform(t, lo, hi)); }

static Value numbers(T *t, int64_t n, const double *x) {
	Value zeros = vector(t, n, 0, 0), out = shaped(t, zeros, x);
	value_unref(zeros);
	return out;
}

static Value integers(T *t, int64_t n, const int64_t *x) {
	Tensor *y = tensor_new(t->c, DT_I64, 1, &n);
	memcpy(y->data, x, (size_t)n * sizeof *x);
	return value_from_tensor(y);
}

static Ref constant(T *t, Value v) {
	Ref r = build_const(t->b, v);
	value_unref(v);
	return r;
}

static Ref total(T *t, Ref x) {
	int axes[MAX_RANK];
	uint32_t rank = ref_ty(build_fn(t->b), x)->rank;
	for (uint32_t k = 0; k < rank; k++) axes[k] = (int)k;
	return build_reduce(t->b, OP_REDUCE_SUM, x, rank, axes);
}

static Ref with_ints(T *t, Op op, Ref x, uint32_t n, const int64_t *words) {
	return build(t->b, op, 1, &x, attr_intern(t->c, words, n), NULL);
}

/* ---- element-wise primitives ------------------------------------------------------------------------------------------------------------------ */

static void domain(Op op, double *lo, double *hi) {
	double margin = 0.2 * (prims[op].hi - prims[op].lo);
	*lo = prims[op].lo + margin;
	*hi = prims[op].hi - margin;
	if (op == OP_ABS) {
		*lo = 0.5;
		*hi = 2;
	}
}

static void test_elementwise(T *t) {
	for (Op op = OP_NONE + 1; op < OP_COUNT; op++) {
		const Prim *p = &prims[op];
		if (!p->elementwise || p->deriv == DERIV_ZERO) continue;
		for (int is_complex = 0; is_complex < 2; is_complex++) {
			if (!(p->kinds & (is_complex ? KIND_C : KIND_R))) continue;
			begin(t, p->name);
			Dtype d = is_complex ? DT_C128 : DT_F64;
			Dim n = sym(t, "n");
			Ref x[2];
			for (int k = 0; k < p->nargs; k++) x[k] = build_param(t->b, type_tensor(t->c, d, 1, &n), 0);
			Ref y = build(t->b, op, (uint32_t)p->nargs, x, 0, NULL);
			Value args[2];
			double lo, hi;
			int64_t length = 3;
			domain(op, &lo, &hi);
			for (int k = 0; k < p->nargs; k++) {
				args[k] = array(t, d, 1, &length, lo, hi);
				if (op == OP_ABS) { /* one on each side of the corner */
					Value turned = numbers(t, 3, (double[]){-1.2, 0.7, -0.6});
					value_unref(args[k]);
					args[k] = turned;
				}
			}
			if (op == OP_MAX || op == OP_MIN || op == OP_MOD) {
				release(2, args);
				args[0] = numbers(t, 3, (double[]){1.2, -0.7, 2.5});
				args[1] = numbers(t, 3, (double[]){0.9, 0.8, -1.1});
			}
			check_all(t, end1(t, y), (uint32_t)p->nargs, args, 2, &usual);
		}
	}
}

static void test_f32(T *t) {
	static const Bounds coarse = {0.05, 2e-5, 1e-6, 1e-6};
	begin(t, "f32");
	Dim n = sym(t, "n");
	Ref x = param(t, type_tensor(t->c, DT_F32, 1, &n), "x"), y = param(t, vec(t, n), "y");
	Ref z = mul(t->b, build1(t->b, OP_SIN, x), build_convert(t->b, build1(t->b, OP_EXP, y), DT_F32));
	Ref wide = add(t->b, build_convert(t->b, z, DT_F64), y);
	int64_t length = 4;
	Value args[2] = {array(t, DT_F32, 1, &length, -1, 1), array(t, DT_F64, 1, &length, -1, 1)};
	check_all(t, end(t, 2, (Ref[]){z, wide}), 2, args, 1, &coarse);
}

/* Ties share, the corner of abs has slope 0, integers and bools have no tangent. */
static void test_conventions(T *t) {
	Builder *b;
	begin(t, "conventions");
	b = t->b;
	Ref x = param(t, num(t), "x"), y = param(t, num(t), "y"), v = param(t, vec(t, len(t, 4)), "v");
	Ref whole = build_convert(b, build_convert(b, x, DT_I64), DT_F64);
	Ref less = build_convert(b, build2(b, OP_LT, x, y), DT_F64);
	Ref results[7] = {build2(b, OP_MAX, x, y), build2(b, OP_MIN, x, y), build1(b, OP_ABS, sub(b, x, y)), add(b, whole, less),
	                  build_reduce(b, OP_REDUCE_MAX, v, 1, (int[]){0}), mul(b, build1(b, OP_STOP, x), x), build_f64(b, 3)};
	Fn *f = end(t, 7, results);
	bool active[3] = {true, true, true}, moves[7];
	Fn *jvp = ad_jvp(t->c, f, active, moves);
	CHECK(t, moves[0] && moves[1] && moves[2] && !moves[3] && moves[4] && moves[5] && !moves[6]);
	Value args[6] = {value_f64(2), value_f64(2), numbers(t, 4, (double[]){1, 5, 5, -2}), value_f64(1), value_f64(3),
	                 numbers(t, 4, (double[]){10, 20, 40, 80})};
	Value out[12];
	if (run(t, jvp, args, out)) {
		CHECK(t, out[7].f == 2); /* (1 + 3) / 2 */
		CHECK(t, out[8].f == 2);
		CHECK(t, out[9].f == 0);
		CHECK(t, out[10].f == 30); /* (20 + 40) / 2 */
		CHECK(t, out[11].f == 2); /* 2 * dx: the stopped factor is a constant */
		release(12, out);
	}
	Fn *back = vjp_of(t, f, active);
	Value in[8] = {args[0], args[1], args[2], value_f64(1), value_f64(0), value_f64(0), value_f64(4), value_f64(0)}, ct[3];
	if (run(t, back, in, ct)) {
		double g[4];
		CHECK(t, ct[0].f == 0.5 && ct[1].f == 0.5);
		flatten(t, ct[2], g);
		CHECK(t, g[0] == 0 && g[1] == 2 && g[2] == 2 && g[3] == 0);
		release(3, ct);
	}
	fn_unref(back);
	release(6, args);
	fn_unref(f);
}

/* ---- structural primitives ------------------------------------------------------------------------------------------------------------------- */

static void test_shapes(T *t) {
	Builder *b;
	begin(t, "select");
	b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), y = param(t, vec(t, n), "y");
	Ref r = build_select(b, build2(b, OP_LT, x, y), mul(b, x, x), build1(b, OP_SIN, y));
	Value args[3] = {numbers(t, 3, (double[]){1, 0.2, -0.5}), numbers(t, 3, (double[]){0.5, 0.7, 0.1})};
	check_all(t, end1(t, r), 2, args, 2, &usual);

	begin(t, "broadcast");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	y = param(t, mat(t, len(t, 1), n), "y");
	Ref s = param(t, num(t), "s");
	Dim shape[3] = {len(t, 2), len(t, 3), n};
	r = mul(b, build_broadcast(b, x, 3, shape, (int[]){2}), build_broadcast(b, y, 3, shape, (int[]){1, 2}));
	r = add(b, r, build_broadcast_scalar(b, build1(b, OP_EXP, s), ref_type(build_fn(b), r)));
	Value three[3] = {vector(t, 4, -1, 1), matrix(t, 1, 4), number(t, -1, 1)};
	check_all(t, end1(t, r), 3, three, 2, &usual);

	begin(t, "reshape, transpose");
	b = t->b;
	n = sym(t, "n");
	Dim m = sym(t, "m");
	x = param(t, mat(t, n, m), "x");
	Dim flat = dim_mul(t->c, n, m);
	r = build_reshape(b, build_transpose(b, mul(b, x, build1(b, OP_COS, x)), (int[]){1, 0}), 1, &flat);
	args[0] = matrix(t, 3, 5);
	check_all(t, end1(t, r), 1, args, 2, &usual);

	begin(t, "slice, pad");
	b = t->b;
	n = sym(t, "n");
	x = param(t, mat(t, n, len(t, 6)), "x");
	Dim zero = len(t, 0);
	r = build_slice(b, mul(b, x, x), (Dim[]){zero, len(t, 5)}, (Dim[]){n, len(t, 3)}, (int64_t[]){1, -2});
	Ref p = build_pad(b, r, (Dim[]){len(t, 1), zero}, (Dim[]){dim_add(t->c, n, len(t, 2)), len(t, 7)}, (int64_t[]){1, 3});
	args[0] = matrix(t, 4, 6);
	check_all(t, end(t, 2, (Ref[]){p, build1(b, OP_SIN, r)}), 1, args, 2, &usual);

	begin(t, "concat, push");
	b = t->b;
	n = sym(t, "n");
	x = param(t, mat(t, n, len(t, 2)), "x");
	y = param(t, mat(t, len(t, 3), len(t, 2)), "y");
	Ref row = param(t, vec(t, len(t, 2)), "row");
	Ref joined = build_concat(b, 3, (Ref[]){mul(b, x, x), y, x}, 0);
	Ref pushed = build(b, OP_PUSH, 2, (Ref[]){joined, mul(b, row, row)}, 0, NULL);
	three[0] = matrix(t, 4, 2);
	three[1] = matrix(t, 3, 2);
	three[2] = vector(t, 2, -1, 1);
	check_all(t, end1(t, mul(b, pushed, pushed)), 3, three, 2, &usual);

	begin(t, "convert, real, imag, conj");
	b = t->b;
	n = sym(t, "n");
	TypeId vectors = type_tensor(t->c, DT_C128, 1, &n);
	Ref z = param(t, vectors, "z");
	x = param(t, vec(t, n), "x");
	Ref w = mul(b, build1(b, OP_CONJ, z), build_convert(b, x, DT_C128));
	Ref parts[3] = {mul(b, build1(b, OP_REAL, w), build1(b, OP_IMAG, z)), build_convert(b, mul(b, w, z), DT_F64), mul(b, w, w)};
	int64_t length = 3;
	args[0] = array(t, DT_C128, 1, &length, -1, 1);
	args[1] = vector(t, 3, -1, 1);
	check_all(t, end(t, 3, parts), 2, args, 2, &usual);
}

static void test_indexing(T *t) {
	Builder *b;
	static const int64_t index[4] = {2, 0, 2, 1};
	for (int k = 0; k < 3; k++) {
		begin(t, k == 0 ? "gather" : k == 1 ? "scatter_add" : "scatter_set");
		b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, mat(t, n, len(t, 3)), "x"), u = param(t, mat(t, n, len(t, 4)), "u");
		Ref i = constant(t, integers(t, 4, index));
		Ref sq = mul(b, x, x), v = build1(b, OP_SIN, u), r;
		if (k == 0) r = mul(b, build_gather(b, sq, i, 1, 0), v);
		else r = build_scatter(b, k == 1 ? OP_SCATTER_ADD : OP_SCATTER_SET, sq, i, v, 1, 0);
		Value args[2] = {matrix(t, 2, 3), matrix(t, 2, 4)};
		check_all(t, end1(t, mul(b, r, r)), 2, args, 2, &usual);
	}
	for (int k = 0; k < 3; k++) {
		begin(t, k == 0 ? "gather, batched" : k == 1 ? "scatter_add, batched" : "scatter_set, batched");
		b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, mat(t, len(t, 2), n), "x"), u = param(t, mat(t, len(t, 2), len(t, 2)), "u");
		Tensor *flat = tensor_new(t->c, DT_I64, 2, (int64_t[]){2, 2});
		memcpy(flat->data, index, sizeof index);
		Ref i = constant(t, value_from_tensor(flat));
		Ref sq = mul(b, x, x), v = build1(b, OP_SIN, u), r;
		if (k == 0) r = mul(b, build_gather(b, sq, i, 1, 1), v);
		else r = build_scatter(b, k == 1 ? OP_SCATTER_ADD : OP_SCATTER_SET, sq, i, v, 1, 1);
		Value args[2] = {matrix(t, 2, 3), matrix(t, 2, 2)};
		check_all(t, end1(t, mul(b, r, r)), 2, args, 2, &usual);
	}
	begin(t, "one row");
	b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, mat(t, n, len(t, 2)), "x"), i = param(t, type_scalar(t->c, DT_I64), "i");
	Ref row = build_gather(b, x, i, 0, 0);
	Ref y = build_scatter(b, OP_SCATTER_SET, x, build_i64(b, 0), mul(b, row, row), 0, 0);
	Value args[2] = {matrix(t, 3, 2), value_i64(2)};
	check_all(t, end1(t, y), 2, args, 2, &usual);
}

static void test_reductions(T *t) {
	Builder *b;
	static const struct {
		const char *name;
		Op op;
	} ops[] = {{"reduce_sum", OP_REDUCE_SUM}, {"reduce_prod", OP_REDUCE_PROD}, {"reduce_max", OP_REDUCE_MAX}, {"reduce_min", OP_REDUCE_MIN}};
	for (uint32_t k = 0; k < 4; k++) {
		for (uint32_t which = 0; which < 3; which++) {
			begin(t, ops[k].name);
			b = t->b;
			Dim n = sym(t, "n");
			Dim dims[3] = {len(t, 2), n, len(t, 3)};
			Ref x = param(t, type_tensor(t->c, DT_F64, 3, dims), "x");
			static const int axes[3][2] = {{1, 0}, {0, 2}, {2, 0}};
			Ref y = build_reduce(b, ops[k].op, build1(b, OP_SIN, x), which == 1 ? 2 : 1, axes[which]);
			Value args[1] = {array(t, DT_F64, 3, (int64_t[]){2, 4, 3}, -1.2, 1.2)};
			check_all(t, end1(t, mul(b, y, y)), 1, args, 2, &usual);
		}
	}
	/* Zeros in the data: the product of the others may still be there. */
	begin(t, "products with zeros");
	b = t->b;
	Ref x = param(t, vec(t, len(t, 4)), "x"), y = param(t, vec(t, len(t, 4)), "y");
	Ref r[4] = {build_reduce(b, OP_REDUCE_PROD, x, 1, (int[]){0}), build_reduce(b, OP_REDUCE_PROD, y, 1, (int[]){0}),
	            with_ints(t, OP_CUMPROD, x, 2, (int64_t[]){0, 0}), with_ints(t, OP_CUMPROD, y, 2, (int64_t[]){0, 1})};
	Value args[2] = {numbers(t, 4, (double[]){2, 0, 0.5, 3}), numbers(t, 4, (double[]){0, 1, 0, -2})};
	check_all(t, end(t, 4, r), 2, args, 3, &usual);

	for (int k = 0; k < 4; k++) {
		begin(t, k < 2 ? "cumsum" : "cumprod");
		b = t->b;
		Dim n = sym(t, "n");
		x = param(t, mat(t, n, len(t, 3)), "x");
		y = with_ints(t, k < 2 ? OP_CUMSUM : OP_CUMPROD, build1(b, OP_SIN, x), 2, (int64_t[]){k & 1, k & 1});
		args[0] = matrix(t, 4, 3);
		check_all(t, end1(t, mul(b, y, y)), 1, args, 2, &usual);
	}
}

static void test_contractions(T *t) {
	for (int is_complex = 0; is_complex < 2; is_complex++) {
		Dtype d = is_complex ? DT_C128 : DT_F64;
		begin(t, is_complex ? "dot, complex" : "dot");
		Builder *b = t->b;
		Dim n = sym(t, "n"), m = sym(t, "m");
		Dim left[4] = {m, len(t, 2), n, len(t, 3)}, right[4] = {n, len(t, 3), len(t, 4), len(t, 2)};
		Ref x = param(t, type_tensor(t->c, d, 4, left), "x"), y = param(t, type_tensor(t->c, d, 4, right), "y");
		Ref z = build_dot(b, x, y, 2, (int[]){3, 2}, (int[]){1, 0}, 1, (int[]){1}, (int[]){3});
		Value args[2] = {array(t, d, 4, (int64_t[]){2, 2, 3, 3}, -1, 1), array(t, d, 4, (int64_t[]){3, 3, 4, 2}, -1, 1)};
		check_all(t, end1(t, mul(b, z, z)), 2, args, 2, &usual);

		begin(t, is_complex ? "matmul, complex" : "matmul");
		b = t->b;
		n = sym(t, "n");
		x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 2), n}), "x");
		y = param(t, type_tensor(t->c, d, 1, (Dim[]){n}), "y");
		Ref v = build_matmul(b, x, y);
		args[0] = array(t, d, 2, (int64_t[]){2, 3}, -1, 1);
		args[1] = array(t, d, 1, (int64_t[]){3}, -1, 1);
		check_all(t, end(t, 2, (Ref[]){build_matmul(b, v, x), build_matmul(b, y, y)}), 2, args, 2, &usual);
	}
	for (int inverse = 0; inverse < 2; inverse++) {
		begin(t, inverse ? "inverse fft" : "fft");
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, type_tensor(t->c, DT_C128, 2, (Dim[]){n, len(t, 2)}), "x");
		Ref y = with_ints(t, OP_FFT, x, 2, (int64_t[]){0, inverse});
		Value args[1] = {array(t, DT_C128, 2, (int64_t[]){6, 2}, -1, 1)};
		check_all(t, end1(t, mul(b, y, y)), 1, args, 2, &usual);
	}
}

/* ---- factorisations -------------------------------------------------------------------------------------------------------------------------- */

/* x x^H + n I: positive definite, with well separated eigenvalues for most x. */
static Ref definite(T *t, Ref x) {
	Builder *b = t->b;
	Type ty = *ref_ty(build_fn(b), x);
	Ref h = build_transpose(b, x, (int[]){1, 0});
	if (dtype_is_complex((Dtype)ty.dtype)) h = build1(b, OP_CONJ, h);
	Ref row = build_broadcast(b, build_iota(b, DT_I64, ty.dims[0]), 2, (Dim[]){ty.dims[0], ty.dims[0]}, (int[]){0});
	Ref column = build_broadcast(b, build_iota(b, DT_I64, ty.dims[0]), 2, (Dim[]){ty.dims[0], ty.dims[0]}, (int[]){1});
	Ref eye = build_convert(b, build2(b, OP_EQ, row, column), (Dtype)ty.dtype);
	return add(b, build_matmul(b, x, h), add(b, eye, eye));
}

/* |x|^2 by element: what does not depend on a vector's phase. */
static Ref squares(T *t, Ref x) {
	Builder *b = t->b;
	if (!dtype_is_complex((Dtype)ref_ty(build_fn(b), x)->dtype)) return mul(b, x, x);
	Ref re = build1(b, OP_REAL, x), im = build1(b, OP_IMAG, x);
	return add(b, mul(b, re, re), mul(b, im, im));
}

static void test_factorisations(T *t) {
	static const Bounds looser = {1e-3, 1e-9, 1e-12, 1e-12};
	for (int is_complex = 0; is_complex < 2; is_complex++) {
		Dtype d = is_complex ? DT_C128 : DT_F64;
		Value args[2];
		Ref out[3];
		begin(t, is_complex ? "cholesky, complex" : "cholesky");
		Dim n = sym(t, "n");
		Ref x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "x");
		Ref y = build(t->b, OP_CHOLESKY, 1, (Ref[]){definite(t, x)}, 0, NULL);
		args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
		check_all(t, end1(t, y), 1, args, 2, &looser);

		begin(t, is_complex ? "cholesky of a lower triangle, complex" : "cholesky of a lower triangle");
		x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 2), len(t, 2)}), "x");
		y = build(t->b, OP_CHOLESKY, 1, &x, 0, NULL);
		if (is_complex) {
			static const double z[8] = {2, 0, 0.3, 0.1, 0.5, 0.7, 3, 0};
			Value shape = array(t, d, 2, (int64_t[]){2, 2}, 0, 0);
			args[0] = shaped(t, shape, z);
			value_unref(shape);
		} else {
			Value shape = array(t, d, 2, (int64_t[]){2, 2}, 0, 0);
			args[0] = shaped(t, shape, (double[]){2, 0.3, 0.5, 3});
			value_unref(shape);
		}
		check_all(t, end1(t, y), 1, args, 2, &looser);

		begin(t, is_complex ? "lu, complex" : "lu");
		n = sym(t, "n");
		x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "x");
		build(t->b, OP_LU, 1, &x, 0, out);
		args[0] = array(t, d, 2, (int64_t[]){4, 4}, -1, 1);
		check_all(t, end1(t, out[0]), 1, args, 2, &looser);

		begin(t, is_complex ? "qr, complex" : "qr");
		x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 5), len(t, 3)}), "x");
		build(t->b, OP_QR, 1, &x, 0, out);
		args[0] = array(t, d, 2, (int64_t[]){5, 3}, -1, 1);
		check_all(t, end(t, 2, out), 1, args, 2, &looser);

		begin(t, is_complex ? "eigh, complex" : "eigh");
		n = sym(t, "n");
		x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "x");
		build(t->b, OP_EIGH, 1, (Ref[]){definite(t, x)}, 0, out);
		out[1] = squares(t, out[1]);
		args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
		check_all(t, end(t, 2, out), 1, args, 2, &looser);

		begin(t, is_complex ? "eig, complex" : "eig");
		x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, 3), len(t, 3)}), "x");
		build(t->b, OP_EIG, 1, &x, 0, out);
		/* of a real matrix LAPACK may turn a vector round from one point to the next */
		Ref vectors = out[1], weighted = mul(t->b, vectors, build_broadcast(t->b, out[0], 2, ref_ty(build_fn(t->b), vectors)->dims, (int[]){1}));
		out[2] = build_matmul(t->b, weighted, build1(t->b, OP_CONJ, build_transpose(t->b, vectors, (int[]){1, 0})));
		if (!is_complex) out[1] = squares(t, vectors);
		args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
		check_all(t, end(t, 3, out), 1, args, 2, &looser);

		for (int wide = 0; wide < 2; wide++) {
			begin(t, is_complex ? "svd, complex" : "svd");
			x = param(t, type_tensor(t->c, d, 2, (Dim[]){len(t, wide ? 3 : 4), len(t, wide ? 4 : 3)}), "x");
			build(t->b, OP_SVD, 1, &x, 0, out);
			/* u_i conj(v_j) summed over k with weights does not depend on the phase that u and v share */
			Ref scaled_u = mul(t->b, out[0], build_convert(t->b, build_broadcast(t->b, out[1], 2, ref_ty(build_fn(t->b), out[0])->dims, (int[]){1}), d));
			Ref vh = build_transpose(t->b, out[2], (int[]){1, 0});
			if (is_complex) vh = build1(t->b, OP_CONJ, vh);
			Ref polar = build_matmul(t->b, out[0], vh), square = build_matmul(t->b, mul(t->b, scaled_u, scaled_u), mul(t->b, vh, vh));
			args[0] = array(t, d, 2, (int64_t[]){wide ? 3 : 4, wide ? 4 : 3}, -1, 1);
			check_all(t, end(t, 5, (Ref[]){out[1], squares(t, out[0]), squares(t, out[2]), polar, square}), 1, args, 2, &looser);
		}
		for (int64_t k = 0; k < 8; k++) {
			begin(t, is_complex ? "trisolve, complex" : "trisolve");
			n = sym(t, "n");
			x = param(t, type_tensor(t->c, d, 2, (Dim[]){n, n}), "t");
			y = param(t, type_tensor(t->c, d, 2, (Dim[]){n, len(t, 2)}), "b");
			Ref solved = build(t->b, OP_TRISOLVE, 2, (Ref[]){definite(t, x), y}, attr_intern(t->c, (int64_t[]){k & 1, k >> 1 & 1, k >> 2}, 3), NULL);
			args[0] = array(t, d, 2, (int64_t[]){3, 3}, -1, 1);
			args[1] = array(t, d, 2, (int64_t[]){3, 2}, -1, 1);
			check_all(t, end1(t, solved), 2, args, 2, &looser);
		}
	}
	/* Equal eigenvalues: what does not depend on the basis chosen is differentiated rightly. */
	begin(t, "eigh of the identity");
	Ref x = param(t, mat(t, len(t, 3), len(t, 3)), "x"), out[2];
	build(t->b, OP_EIGH, 1, &x, 0, out);
	Ref sum = total(t, mul(t->b, out[0], out[0]));
	Fn *f = end1(t, sum);
	Fn *back = vjp_of(t, f, (bool[]){true});
	Value args[2] = {array(t, DT_F64, 2, (int64_t[]){3, 3}, 0, 0), value_f64(1)}, ct;
	Value eye = shaped(t, args[0], (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1});
	value_unref(args[0]);
	args[0] = eye;
	if (run(t, back, args, &ct)) {
		double g[9];
		flatten(t, ct, g);
		for (int i = 0; i < 9; i++) CHECK(t, fabs(g[i] - (i % 4 ? 0 : 2)) < 1e-14);
		value_unref(ct);
	}
	release(2, args);
	fn_unref(back);
	fn_unref(f);
}

/* ---- control flow --------------------------------------------------------------------------------------------------------------------------- */

static Ref first_of(T *t, Ref x) { return build_gather(t->b, x, build_i64(t->b, 0), 0, 0); }

static Ref element(T *t, Ref x, Ref i) { return build_gather(t->b, x, i, 0, 0); }

static void test_branches(T *t) {
	for (int side = 0; side < 2; side++) {
		begin(t, "if");
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, vec(t, n), "x"), y = param(t, vec(t, n), "y"), s = param(t, num(t), "s"), r[3];
		Ref z = mul(b, x, y);
		OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
		Ref big = build1(b, OP_EXP, z);
		RegionId yes = build_region_end(b, open, 3, (Ref[]){mul(b, big, x), total(t, big), x});
		open = build_region_begin(b, 0, NULL, NULL);
		RegionId no = build_region_end(b, open, 3, (Ref[]){y, build_f64(b, 2), build1(b, OP_SIN, z)});
		build_if(b, build2(b, OP_LT, s, build_f64(b, 0)), yes, no, r);
		Value args[3] = {vector(t, 3, -1, 1), vector(t, 3, -1, 1), value_f64(side ? 0.7 : -0.7)};
		check_all(t, end(t, 3, (Ref[]){mul(b, r[0], z), mul(b, r[1], s), r[2]}), 3, args, 3, &usual);
	}
	/* A length that only the branch knows. */
	for (int side = 0; side < 2; side++) {
		begin(t, "if, with a length of its own");
		Builder *b = t->b;
		Dim n = sym(t, "n");
		Ref x = param(t, vec(t, n), "x"), s = param(t, num(t), "s"), r[2];
		OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
		Ref positive = build2(b, OP_LT, build_zeros(b, vec(t, n)), x);
		Ref places = build(b, OP_NONZERO, 1, &positive, attr_intern(t->c, (int64_t[]){sym(t, "k")}, 1), NULL);
		Ref some = build_gather(b, mul(b, x, x), places, 0, 0);
		RegionId yes = build_region_end(b, open, 2, (Ref[]){total(t, mul(b, some, build1(b, OP_SIN, some))), mul(b, some, some)});
		open = build_region_begin(b, 0, NULL, NULL);
		RegionId no = build_region_end(b, open, 2, (Ref[]){total(t, x), x});
		build_if(b, build2(b, OP_LT, s, build_f64(b, 0)), yes, no, r);
		Value args[2] = {numbers(t, 5, (double[]){0.5, -1, 0.7, -0.3, 0.9}), value_f64(side ? 1 : -1)};
		check_all(t, end(t, 2, (Ref[]){mul(b, r[0], s), mul(b, r[1], r[1])}), 2, args, 3, &usual);
	}
	/* The middle of an array whose length the values decide, outside any region. */
	begin(t, "nonzero");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x");
	Ref positive = build2(b, OP_LT, build_zeros(b, vec(t, n)), x);
	Ref places = build(b, OP_NONZERO, 1, &positive, attr_intern(t->c, (int64_t[]){sym(t, "k")}, 1), NULL);
	Ref some = build_gather(b, x, places, 0, 0);
	Value args[1] = {numbers(t, 5, (double[]){0.5, -1, 0.7, -0.3, 0.9})};
	check_all(t, end(t, 2, (Ref[]){mul(b, some, some), total(t, some)}), 1, args, 3, &usual);
}

static void test_try(T *t) {
	for (int fails = 0; fails < 2; fails++) {
		begin(t, "try");
		Builder *b = t->b;
		Ref x = param(t, vec(t, len(t, 3)), "x"), i = param(t, type_scalar(t->c, DT_I64), "i"), r, message;
		OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
		Ref picked = element(t, mul(b, x, x), i);
		RegionId body = build_region_end(b, open, 1, (Ref[]){mul(b, picked, total(t, x))});
		TypeId dyn = type_dyn(t->c);
		open = build_region_begin(b, 1, &dyn, &message);
		RegionId handler = build_region_end(b, open, 1, (Ref[]){build1(b, OP_SIN, first_of(t, x))});
		build_try(b, body, handler, &r);
		Value args[2] = {vector(t, 3, -1, 1), value_i64(fails ? 7 : 1)};
		check_all(t, end1(t, mul(b, r, r)), 2, args, 3, &usual);
		diag_clear(t->c);
	}
}

/* x := sin(a x) + x b_i, with b from outside and a swapped in at each turn. */
static Fn *loop_program(T *t, bool symbolic) {
	begin(t, symbolic ? "for, n turns" : "for, 5 turns");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), a = param(t, vec(t, n), "a"), w = param(t, vec(t, len(t, 6)), "w");
	Ref turns = symbolic ? param(t, type_scalar(t->c, DT_I64), "turns") : build_i64(b, 5);
	TypeId types[4] = {type_scalar(t->c, DT_I64), vec(t, n), vec(t, n), num(t)};
	Ref p[4], r[3];
	OpenRegion *open = build_region_begin(b, 4, types, p);
	Ref wi = element(t, w, p[0]);
	Ref next = add(b, build1(b, OP_SIN, mul(b, p[1], p[2])), mul(b, p[1], build_broadcast_scalar(b, wi, vec(t, n))));
	Ref out[3] = {p[2], next, add(b, p[3], mul(b, wi, total(t, next)))}; /* the two arrays change places */
	build_for(b, turns, 3, (Ref[]){x, a, build_f64(b, 0.5)}, build_region_end(b, open, 3, out), r);
	return end(t, 3, r);
}

static void test_for(T *t) {
	Value args[4] = {vector(t, 3, -1, 1), vector(t, 3, -1, 1), vector(t, 6, -1, 1)};
	check_all(t, loop_program(t, false), 3, args, 3, &usual);
	for (int64_t turns = -2; turns < 5; turns += 2) {
		args[0] = vector(t, 3, -1, 1);
		args[1] = vector(t, 3, -1, 1);
		args[2] = vector(t, 6, -1, 1);
		args[3] = value_i64(turns);
		check_all(t, loop_program(t, true), 4, args, 2, &usual);
	}

	begin(t, "for, updating an array");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, mat(t, n, len(t, 2)), "x"), s = param(t, num(t), "s"), p[3], r[2];
	TypeId types[3] = {type_scalar(t->c, DT_I64), mat(t, n, len(t, 2)), num(t)};
	OpenRegion *open = build_region_begin(b, 3, types, p);
	Ref row = element(t, p[1], p[0]), previous = element(t, x, p[0]);
	Ref changed = mul(b, mul(b, row, build1(b, OP_COS, previous)), build_broadcast_scalar(b, p[2], vec(t, len(t, 2))));
	Ref updated = build_scatter(b, OP_SCATTER_SET, p[1], p[0], changed, 0, 0);
	updated = build_scatter(b, OP_SCATTER_ADD, updated, build_i64(b, 0), row, 0, 0);
	build_for(b, build_extent(b, n), 2, (Ref[]){x, s}, build_region_end(b, open, 2, (Ref[]){updated, mul(b, p[2], s)}), r);
	Value two[2] = {matrix(t, 4, 2), number(t, 0.5, 1)};
	check_all(t, end(t, 2, r), 2, two, 3, &usual);

	/* The inner count depends on the outer turn, so what the inner loop keeps has another length each time. */
	begin(t, "for in for");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	Ref q[3], inner[1];
	TypeId number_types[2] = {type_scalar(t->c, DT_I64), vec(t, n)};
	open = build_region_begin(b, 2, number_types, p);
	OpenRegion *open_inner = build_region_begin(b, 2, number_types, q);
	Ref scale = build_broadcast_scalar(b, element(t, x, p[0]), vec(t, n));
	RegionId turn = build_region_end(b, open_inner, 1, (Ref[]){build1(b, OP_SIN, add(b, mul(b, q[1], q[1]), scale))});
	build_for(b, add(b, p[0], build_i64(b, 1)), 1, &p[1], turn, inner);
	turn = build_region_end(b, open, 1, (Ref[]){mul(b, inner[0], p[1])});
	build_for(b, build_i64(b, 4), 1, &x, turn, r);
	two[0] = vector(t, 4, -1, 1);
	check_all(t, end1(t, r[0]), 1, two, 2, &usual);
}

/* Halves x until it is small, squaring on the way: the number of turns is in the data. */
static Ref shrink(T *t, Ref x, Ref weight) {
	Builder *b = t->b;
	TypeId types[2] = {num(t), num(t)};
	Ref p[2], r[2];
	OpenRegion *open = build_region_begin(b, 2, types, p);
	RegionId cond = build_region_end(b, open, 1, (Ref[]){build2(b, OP_LT, build_f64(b, 0.3), build1(b, OP_ABS, p[0]))});
	open = build_region_begin(b, 2, types, p);
	Ref half = mul(b, mul(b, p[0], build_f64(b, 0.6)), build1(b, OP_COS, mul(b, p[0], build_f64(b, 0.1))));
	RegionId body = build_region_end(b, open, 2, (Ref[]){half, add(b, mul(b, mul(b, p[1], p[1]), build_f64(b, 0.25)), mul(b, weight, half))});
	build_while(b, 2, (Ref[]){x, weight}, cond, body, r);
	return r[1];
}

static void test_while(T *t) {
	Builder *b;
	static const double starts[] = {1.7, 0.1, 0.9};
	for (int k = 0; k < 3; k++) {
		begin(t, "while");
		Ref x = param(t, num(t), "x"), y = param(t, num(t), "y");
		Value args[2] = {value_f64(starts[k]), value_f64(0.4)};
		check_all(t, end1(t, shrink(t, x, y)), 2, args, 3, &usual);
	}
	begin(t, "while in for");
	b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), p[2], r[1];
	TypeId types[2] = {type_scalar(t->c, DT_I64), num(t)};
	OpenRegion *open = build_region_begin(b, 2, types, p);
	Ref small = shrink(t, element(t, x, p[0]), p[1]);
	build_for(b, build_extent(b, n), 1, (Ref[]){build_f64(b, 0.3)}, build_region_end(b, open, 1, (Ref[]){build1(b, OP_SIN, small)}), r);
	Value args[2] = {numbers(t, 5, (double[]){1.3, 0.1, 0.7, 2.2, 0.9})};
	check_all(t, end1(t, r[0]), 1, args, 3, &usual);

	begin(t, "for in while in for");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	Ref q[2], s[2], inner[1], middle[1];
	open = build_region_begin(b, 2, types, p);
	OpenRegion *open_cond = build_region_begin(b, 1, &types[1], q);
	RegionId cond = build_region_end(b, open_cond, 1, (Ref[]){build2(b, OP_LT, build_f64(b, 0.5), q[0])});
	OpenRegion *open_body = build_region_begin(b, 1, &types[1], q);
	OpenRegion *open_inner = build_region_begin(b, 2, types, s);
	RegionId turn = build_region_end(b, open_inner, 1, (Ref[]){mul(b, s[1], build1(b, OP_COS, mul(b, s[1], element(t, x, s[0]))))});
	build_for(b, add(b, p[0], build_i64(b, 1)), 1, &q[0], turn, inner);
	RegionId body = build_region_end(b, open_body, 1, (Ref[]){mul(b, inner[0], build_f64(b, 0.8))});
	build_while(b, 1, (Ref[]){add(b, element(t, x, p[0]), p[1])}, cond, body, middle);
	turn = build_region_end(b, open, 1, (Ref[]){add(b, p[1], middle[0])});
	build_for(b, build_extent(b, n), 1, (Ref[]){build_f64(b, 0.3)}, turn, r);
	args[0] = numbers(t, 4, (double[]){0.9, 0.4, 1.3, 0.2});
	check_all(t, end1(t, r[0]), 1, args, 2, &usual);

	/* A list grows: x, f(x), f(f(x)) ... and is used whole afterwards. */
	begin(t, "while, growing a list");
	b = t->b;
	x = param(t, num(t), "x");
	Dim k = sym(t, "k");
	TypeId growing[2] = {num(t), vec(t, k)};
	open = build_region_begin(b, 2, growing, p);
	cond = build_region_end(b, open, 1, (Ref[]){build2(b, OP_LT, build_f64(b, 0.3), p[0])});
	open = build_region_begin(b, 2, growing, p);
	Ref next = mul(b, p[0], build1(b, OP_COS, p[0]));
	Ref list = build(b, OP_PUSH, 2, (Ref[]){p[1], mul(b, next, next)}, 0, NULL);
	body = build_region_end(b, open, 2, (Ref[]){mul(b, next, build_f64(b, 0.9)), list});
	Ref w[2];
	build_while(b, 2, (Ref[]){x, build_zeros(b, vec(t, len(t, 0)))}, cond, body, w);
	args[0] = value_f64(0.95);
	check_all(t, end(t, 2, (Ref[]){mul(b, w[1], w[1]), total(t, build1(b, OP_SIN, w[1]))}), 1, args, 3, &usual);

	/* The list is used whole inside the loop as well: what is kept changes its shape from turn to turn. */
	begin(t, "for, using a growing list");
	b = t->b;
	x = param(t, num(t), "x");
	k = sym(t, "k");
	TypeId carried[3] = {type_scalar(t->c, DT_I64), vec(t, k), num(t)};
	Ref c[3];
	open = build_region_begin(b, 3, carried, c);
	Ref squares_sum = total(t, mul(b, c[1], build1(b, OP_COS, c[1])));
	next = build1(b, OP_SIN, add(b, mul(b, x, squares_sum), c[2]));
	list = build(b, OP_PUSH, 2, (Ref[]){c[1], next}, 0, NULL);
	turn = build_region_end(b, open, 2, (Ref[]){list, next});
	build_for(b, build_i64(b, 4), 2, (Ref[]){build_zeros(b, vec(t, len(t, 0))), x}, turn, w);
	args[0] = value_f64(0.8);
	check_all(t, end(t, 2, (Ref[]){mul(b, w[0], w[0]), w[1]}), 1, args, 3, &usual);
}

/* ---- calls, recursion, host functions, rules ------------------------------------------------------------------------------------------------ */

/* (a: [m], b: [m], turns) -> sin(a) b + a_0, and the sum of b over `turns` shrinking steps. */
static Fn *make_callee(T *t) {
	begin(t, "callee");
	Builder *b = t->b;
	Dim m = sym(t, "m");
	Ref a = param(t, vec(t, m), "a"), x = param(t, vec(t, m), "b"), s = param(t, num(t), "s");
	Ref first = build_broadcast_scalar(b, first_of(t, a), vec(t, m));
	Ref y = add(b, mul(b, build1(b, OP_SIN, a), x), first);
	return end(t, 2, (Ref[]){y, mul(b, shrink(t, s, first_of(t, x)), total(t, y))});
}

static void test_calls(T *t) {
	Fn *callee = make_callee(t);
	begin(t, "call");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), y = param(t, vec(t, n), "y"), r[2], q[2];
	build_call(b, callee, 3, (Ref[]){mul(b, x, y), y, first_of(t, x)}, r);
	Ref still = constant(t, numbers(t, 3, (double[]){1, 2, 3})); /* another mask of active operands */
	build_call(b, callee, 3, (Ref[]){still, build_slice(b, r[0], (Dim[]){len(t, 0)}, (Dim[]){len(t, 3)}, NULL), build_f64(b, 0.7)}, q);
	Value args[2] = {numbers(t, 4, (double[]){1.1, 0.5, -0.3, 0.2}), vector(t, 4, -1, 1)};
	check_all(t, end(t, 4, (Ref[]){r[0], r[1], mul(b, q[0], q[0]), q[1]}), 2, args, 3, &usual);

	/* The callee's residuals have another length at each turn. */
	begin(t, "call of a loop in a loop");
	b = t->b;
	n = sym(t, "n");
	x = param(t, vec(t, n), "x");
	TypeId types[2] = {type_scalar(t->c, DT_I64), num(t)};
	Ref p[2], s[1];
	OpenRegion *open = build_region_begin(b, 2, types, p);
	build_call(b, callee, 3, (Ref[]){x, x, add(b, element(t, x, p[0]), p[1])}, r);
	RegionId turn = build_region_end(b, open, 1, (Ref[]){build1(b, OP_SIN, r[1])});
	build_for(b, build_extent(b, n), 1, (Ref[]){build_f64(b, 0.4)}, turn, s);
	args[0] = numbers(t, 4, (double[]){0.9, 0.5, 1.1, 0.2});
	static const Bounds finer = {5e-4, 2e-11, 1e-13, 1e-13}; /* it bends more, and rounding weighs 1/step */
	check_all(t, end1(t, s[0]), 1, args, 2, &finer);
	fn_unref(callee);
}

static void call_self(T *t, Fn *f, uint32_t n, const Ref *args, uint32_t m, Ref *results) {
	TypeId types[4];
	for (uint32_t k = 0; k < m; k++) types[k] = num(t);
	int64_t word = f->id;
	build_typed(t->b, OP_CALL, n, args, attr_intern(t->c, &word, 1), m, types, results);
}

static Ref is_done(T *t, Ref n) { return build2(t->b, OP_LE, n, build_i64(t->b, 0)); }
static Ref one_less(T *t, Ref n) { return sub(t->b, n, build_i64(t->b, 1)); }

static void test_recursion(T *t) {
	TypeId whole = type_scalar(t->c, DT_I64);
	/* f(x, a, n) = if n <= 0 then (x, a) else let (y, s) = f(sin(x) a, a x, n - 1) in (y x, s + y) */
	begin(t, "recursion");
	Builder *b = t->b;
	Ref x = param(t, num(t), "x"), a = param(t, num(t), "a"), n = param(t, whole, "n"), r[2], y[2];
	OpenRegion *open = build_region_begin(b, 0, NULL, NULL);
	RegionId done = build_region_end(b, open, 2, (Ref[]){x, a});
	open = build_region_begin(b, 0, NULL, NULL);
	call_self(t, build_fn(b), 3, (Ref[]){mul(b, build1(b, OP_SIN, x), a), mul(b, a, x), one_less(t, n)}, 2, y);
	RegionId deeper = build_region_end(b, open, 2, (Ref[]){mul(b, y[0], x), add(b, y[1], y[0])});
	build_if(b, is_done(t, n), done, deeper, r);
	Fn *f = end(t, 2, r);
	for (int64_t depth = 0; depth < 5; depth += 2) {
		Value three[3] = {value_f64(0.8), value_f64(1.1), value_i64(depth)};
		fn_ref(f);
		check_all(t, f, 3, three, 3, &usual);
	}
	fn_unref(f);

	/* Two calls of itself, of which only one operand carries a derivative in from outside. */
	begin(t, "tree recursion");
	b = t->b;
	x = param(t, num(t), "x");
	n = param(t, whole, "n");
	open = build_region_begin(b, 0, NULL, NULL);
	done = build_region_end(b, open, 1, &x);
	open = build_region_begin(b, 0, NULL, NULL);
	call_self(t, build_fn(b), 2, (Ref[]){build1(b, OP_SIN, x), one_less(t, n)}, 1, y);
	call_self(t, build_fn(b), 2, (Ref[]){mul(b, y[0], x), sub(b, n, build_i64(b, 2))}, 1, y + 1);
	Ref fixed;
	call_self(t, build_fn(b), 2, (Ref[]){build_f64(b, 0.3), one_less(t, n)}, 1, &fixed);
	deeper = build_region_end(b, open, 1, (Ref[]){add(b, mul(b, y[0], y[1]), fixed)});
	build_if(b, is_done(t, n), done, deeper, r);
	Value args[2] = {value_f64(0.8), value_i64(4)};
	check_all(t, end1(t, r[0]), 2, args, 3, &usual);

	/* even(x, n) calls odd(x, n), which calls even again: the second function is finished while the first is not. */
	begin(t, "even");
	Builder *even = t->b;
	Ref ex = param(t, num(t), "x"), en = param(t, whole, "n");
	Fn *even_fn = build_fn(even);
	begin(t, "odd");
	x = param(t, num(t), "x");
	n = param(t, whole, "n");
	open = build_region_begin(t->b, 0, NULL, NULL);
	done = build_region_end(t->b, open, 1, (Ref[]){build1(t->b, OP_COS, x)});
	open = build_region_begin(t->b, 0, NULL, NULL);
	call_self(t, even_fn, 2, (Ref[]){build1(t->b, OP_SIN, x), one_less(t, n)}, 1, y);
	deeper = build_region_end(t->b, open, 1, (Ref[]){mul(t->b, y[0], x)});
	build_if(t->b, is_done(t, n), done, deeper, r);
	Fn *odd_fn = end1(t, r[0]);
	t->b = even;
	open = build_region_begin(even, 0, NULL, NULL);
	done = build_region_end(even, open, 1, &ex);
	open = build_region_begin(even, 0, NULL, NULL);
	build_call(even, odd_fn, 2, (Ref[]){mul(even, ex, ex), one_less(t, en)}, y);
	deeper = build_region_end(even, open, 1, (Ref[]){add(even, y[0], ex)});
	build_if(even, is_done(t, en), done, deeper, r);
	args[0] = value_f64(0.9);
	args[1] = value_i64(5);
	t->name = "mutual recursion";
	check_all(t, end1(t, r[0]), 2, args, 3, &usual);
	fn_unref(odd_fn);
}

/* host: (x, y) -> x^2 y with its rules; its jvp is built on a second one that is linear in its last operand: (a, d) -> a d. */
static uint32_t host_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs, TypeId *out, uint32_t cap) {
	(void)call;
	(void)nargs;
	(void)cap;
	out[0] = ref_type(build_fn(b), args[0]);
	return 1;
}
static Status host_cube(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults, Value *results) {
	(void)c;
	(void)call;
	(void)nargs;
	(void)nresults;
	results[0] = value_f64(args[0].f * args[0].f * args[1].f);
	return ST_OK;
}
static Status host_scale(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args, uint32_t nresults, Value *results) {
	(void)c;
	(void)call;
	(void)nargs;
	(void)nresults;
	results[0] = value_f64(args[0].f * args[1].f);
	return ST_OK;
}
static const HostDef host_defs[3];
static Ref call_host(Builder *b, int which, Ref x, Ref y) {
	Ref out;
	build_host(b, host_call_intern(build_ctx(b), &host_defs[which], 0, NULL, 0, NULL), 2, (Ref[]){x, y}, &out, 1);
	return out;
}
static void host_cube_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results, const Ref *tangents,
                          Ref *result_tangents) {
	(void)call;
	(void)nargs;
	(void)results;
	Ref sum = REF_NONE;
	if (tangents[0]) sum = call_host(b, 1, mul(b, mul(b, args[0], args[1]), build_f64(b, 2)), tangents[0]);
	if (tangents[1]) {
		Ref part = call_host(b, 1, mul(b, args[0], args[0]), tangents[1]);
		sum = sum ? add(b, sum, part) : part;
	}
	result_tangents[0] = sum;
}
static void host_scale_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const Ref *results, const Ref *tangents,
                           Ref *result_tangents) {
	(void)call;
	(void)nargs;
	(void)results;
	Ref sum = REF_NONE;
	if (tangents[0]) sum = call_host(b, 1, args[1], tangents[0]);
	if (tangents[1]) {
		Ref part = call_host(b, 1, args[0], tangents[1]);
		sum = sum ? add(b, sum, part) : part;
	}
	result_tangents[0] = sum;
}
static void host_scale_transpose(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args, const bool *linear,
                                 const Ref *result_cotangents, Ref *cotangents) {
	(void)call;
	(void)nargs;
	for (int k = 0; k < 2; k++)
		if (linear[k]) cotangents[k] = call_host(b, 1, args[1 - k], result_cotangents[0]);
}
static const HostDef host_defs[3] = {
	{.name = "cube", .types = host_types, .eval = host_cube, .jvp = host_cube_jvp},
	{.name = "scale", .types = host_types, .eval = host_scale, .jvp = host_scale_jvp, .transpose = host_scale_transpose},
	{.name = "secret", .types = host_types, .eval = host_scale},
};

static void expect_error(T *t, Fn *f, bool reverse, DiagCode code, const char *words, int line);
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

/* Twice, because what a failure leaves behind must not be taken for a result. Releases f. */
static void expect_error(T *t, Fn *f, bool reverse, DiagCode code, const char *words, int line) {
	for (int round = 0; round < 2; round++) {
		Attempt a = {f, reverse};
		uint32_t mark = build_mark(t->c);
		Status s = ctx_protect(t->c, attempt, &a);
		build_unwind(t->c, mark);
		const Diag *d = diag_total(t->c) ? diag_at(t->c, 0) : NULL;
		check_at(t, s == ST_ERROR && d && d->code == code && strstr(d->message, words), line, "expected an error with \"%s\", got \"%s\"",
		         words, d ? d->message : "none");
		diag_clear(t->c);
	}
	fn_unref(f);
}

static void test_host(T *t) {
	begin(t, "host");
	Ref x = param(t, num(t), "x"), y = param(t, num(t), "y");
	Ref r = call_host(t->b, 0, build1(t->b, OP_SIN, x), mul(t->b, x, y));
	Value args[2] = {value_f64(0.7), value_f64(-0.4)};
	check_all(t, end1(t, mul(t->b, r, r)), 2, args, 3, &usual);

	begin(t, "host without a derivative");
	x = param(t, num(t), "x");
	expect_error(t, end1(t, call_host(t->b, 2, x, x)), false, E_NO_RULE, "secret", __LINE__);
}

static void test_rules(T *t) {
	/* g(x, y) = x y, but its written rule says (dx + dy) sin(result). */
	begin(t, "g");
	Ref x = param(t, num(t), "x"), y = param(t, num(t), "y");
	t->ruled = end1(t, mul(t->b, x, y));
	begin(t, "g.rule");
	Ref p[5];
	for (int k = 0; k < 5; k++) p[k] = param(t, num(t), "p");
	t->rule = end1(t, mul(t->b, add(t->b, p[3], p[4]), build1(t->b, OP_SIN, p[2])));
	begin(t, "written rule");
	x = param(t, num(t), "x");
	y = param(t, num(t), "y");
	Ref r;
	build_call(t->b, t->ruled, 2, (Ref[]){x, mul(t->b, y, y)}, &r);
	Fn *f = end1(t, r), *back = vjp_of(t, f, (bool[]){true, true});
	Value in[3] = {value_f64(0.7), value_f64(1.3), value_f64(1)}, ct[2];
	if (run(t, back, in, ct)) {
		double s = sin(0.7 * 1.3 * 1.3);
		CHECK(t, fabs(ct[0].f - s) < 1e-15 && fabs(ct[1].f - 2 * 1.3 * s) < 1e-15);
	}
	fn_unref(back);
	fn_unref(f);
	fn_unref(t->rule);

	/* A rule that is not linear in the tangents is found when it is run backwards. */
	begin(t, "g.bad");
	for (int k = 0; k < 5; k++) p[k] = param(t, num(t), "p");
	t->rule = end1(t, build1(t->b, OP_SIN, p[3]));
	begin(t, "not linear");
	x = param(t, num(t), "x");
	build_call(t->b, t->ruled, 2, (Ref[]){x, x}, &r);
	expect_error(t, end1(t, r), true, E_NO_RULE, "not linear", __LINE__);
	fn_unref(t->rule);
	begin(t, "g.bad");
	for (int k = 0; k < 4; k++) p[k] = param(t, num(t), "p");
	t->rule = end1(t, p[3]);
	begin(t, "wrong arity");
	x = param(t, num(t), "x");
	build_call(t->b, t->ruled, 2, (Ref[]){x, x}, &r);
	expect_error(t, end1(t, r), false, E_RULE, "takes 4 values", __LINE__);
	fn_unref(t->rule);
	fn_unref(t->ruled);
	t->rule = t->ruled = NULL;
}

static void test_dynamic(T *t) {
	TypeId dyn = type_dyn(t->c), token = type_token(t->c);
	begin(t, "printing");
	Builder *b = t->b;
	Ref x = param(t, num(t), "x"), tok = param(t, token, "tok");
	int64_t words = atom(t->c, "x is {0}");
	Ref text = build(b, OP_FORMAT, 1, &x, attr_intern(t->c, &words, 1), NULL);
	tok = build(b, OP_PRINT, 2, (Ref[]){tok, text}, 0, NULL);
	Fn *f = end(t, 2, (Ref[]){mul(b, x, x), tok});
	bool moves[2];
	const Linearised *l = ad_linearise(t->c, f, (bool[]){true, false});
	ad_jvp(t->c, f, (bool[]){true, false}, moves);
	CHECK(t, moves[0] && !moves[1] && l->primal->effects && !l->linear->effects);
	fn_unref(f);

	begin(t, "through a dynamic value");
	b = t->b;
	x = param(t, num(t), "x");
	Value hole = {0};
	Value list = value_seq(t->c, V_LIST, 1, &hole);
	Ref boxed = build(b, OP_BOX, 2, (Ref[]){constant(t, list), x}, 0, NULL);
	int64_t to = num(t);
	Ref y = build(b, OP_UNBOX, 1, &boxed, attr_intern(t->c, &to, 1), NULL);
	expect_error(t, end1(t, y), false, E_NO_RULE, "dynamic value", __LINE__);

	/* A list of what is differentiated may be made, as long as no number comes back out of it. */
	begin(t, "into a dynamic value");
	b = t->b;
	x = param(t, num(t), "x");
	list = value_seq(t->c, V_LIST, 1, &hole);
	boxed = build(b, OP_BOX, 2, (Ref[]){constant(t, list), x}, 0, NULL);
	f = end(t, 2, (Ref[]){mul(b, x, x), boxed});
	CHECK(t, ref_type(f, fn_result(f, 1)) == dyn);
	ad_jvp(t->c, f, (bool[]){true}, moves);
	CHECK(t, moves[0] && !moves[1]);
	fn_unref(f);
}

/* A failure deep in mutually recursive transforms leaves nothing half made. */
static void test_failures(T *t) {
	TypeId whole = type_scalar(t->c, DT_I64);
	begin(t, "failing");
	Builder *first = t->b;
	Ref x = param(t, num(t), "x"), n = param(t, whole, "n"), y, r;
	Fn *first_fn = build_fn(first);
	begin(t, "helper");
	Ref hx = param(t, num(t), "x"), hn = param(t, whole, "n");
	OpenRegion *open = build_region_begin(t->b, 0, NULL, NULL);
	RegionId done = build_region_end(t->b, open, 1, &hx);
	open = build_region_begin(t->b, 0, NULL, NULL);
	call_self(t, first_fn, 2, (Ref[]){build1(t->b, OP_SIN, hx), one_less(t, hn)}, 1, &y);
	RegionId deeper = build_region_end(t->b, open, 1, &y);
	build_if(t->b, is_done(t, hn), done, deeper, &r);
	Fn *helper = end1(t, r);
	t->b = first;
	build_call(first, helper, 2, (Ref[]){x, n}, &y);
	Fn *f = end1(t, call_host(first, 2, y, y));
	expect_error(t, f, true, E_NO_RULE, "secret", __LINE__);
	fn_unref(helper);

	for (int k = 0; k < 2; k++) { /* a rule that is missing */
		begin(t, "no line of calculus");
		Fn *(*rule)(Ctx *, Op, Dtype) = ir_services(t->c)->elementwise_rule;
		ir_services(t->c)->elementwise_rule = NULL;
		Ref v = param(t, num(t), "x");
		expect_error(t, end1(t, build1(t->b, OP_TANH, v)), k, E_NO_RULE, "tanh", __LINE__);
		ir_services(t->c)->elementwise_rule = rule;
	}
}

/* ---- costs ------------------------------------------------------------------------------------------------------------------------------------------ */

static double operations(T *t, Fn *f, const Value *args) {
	Value *out = calloc(fn_nresults(f) + 1, sizeof *out);
	run_counters(t->c)->scalar_operations = 0;
	if (run(t, f, args, out)) release(fn_nresults(f), out);
	free(out);
	return run_counters(t->c)->scalar_operations;
}

static void test_cost(T *t) {
	begin(t, "cost");
	Builder *b = t->b;
	Dim n = sym(t, "n"), m = sym(t, "m");
	Ref x = param(t, mat(t, n, m), "x"), y = param(t, mat(t, m, n), "y"), z = build_matmul(b, x, y), p[2], r;
	TypeId types[2] = {type_scalar(t->c, DT_I64), mat(t, n, n)};
	OpenRegion *open = build_region_begin(b, 2, types, p);
	Ref w = build1(b, OP_TANH, build_matmul(b, p[1], z));
	build_for(b, build_extent(b, m), 1, &z, build_region_end(b, open, 1, &w), &r);
	Fn *f = end1(t, total(t, build_transpose(b, r, (int[]){1, 0})));
	Value args[2] = {matrix(t, 20, 30), matrix(t, 30, 20)};
	double expected = 2.0 * 20 * 30 * 20 + 30 * (2.0 * 20 * 20 * 20 + 20 * 20) + 20 * 20;
	CHECK(t, fn_cost(f, (int64_t[]){20, 30}, 2) == expected);
	CHECK(t, operations(t, f, args) == expected);
	begin(t, "caller");
	x = param(t, mat(t, len(t, 4), len(t, 5)), "x");
	build_call(t->b, f, 2, (Ref[]){x, build_transpose(t->b, x, (int[]){1, 0})}, &r);
	Fn *caller = end1(t, r);
	CHECK(t, fn_cost(caller, NULL, 0) == fn_cost(f, (int64_t[]){4, 5}, 2));
	release(2, args);
	fn_unref(caller);
	fn_unref(f);
}

/* sum over i of x[i] sin(x[i - 1]) by a loop that reads one element at a time. */
static Fn *walking_loop(T *t) {
	begin(t, "a gradient costs a constant times the function");
	Builder *b = t->b;
	Dim n = sym(t, "n");
	Ref x = param(t, vec(t, n), "x"), p[3], r[2];
	TypeId types[3] = {type_scalar(t->c, DT_I64), num(t), num(t)};
	OpenRegion *open = build_region_begin(b, 3, types, p);
	Ref xi = element(t, x, p[0]);
	Ref out[2] = {add(b, p[1], mul(b, xi, build1(b, OP_SIN, p[2]))), xi};
	build_for(b, build_extent(b, n), 2, (Ref[]){build_f64(b, 0), build_f64(b, 0)}, build_region_end(b, open, 2, out), r);
	return end1(t, r[0]);
}

/* What is kept grows with what was done, and the cotangent of an array is updated in place. */
static void test_scaling(T *t) {
	Fn *f = walking_loop(t), *back = vjp_of(t, f, (bool[]){true});
	double work[2];
	size_t peak[2];
	for (int k = 0; k < 2; k++) {
		int64_t n = 4000 << k;
		Value args[2] = {vector(t, n, -1, 1), value_f64(1)};
		Ctx *c = t->c;
		work[k] = operations(t, back, args);
		peak[k] = heap_peak(c);
		check_at(t, work[k] < 12 * operations(t, f, args), __LINE__, "%g operations backwards", work[k]);
		release(2, args);
	}
	check_at(t, work[1] < 2.1 * work[0] && peak[1] < 2.5 * (double)peak[0], __LINE__, "%g, then %g operations", work[0], work[1]);
	fn_unref(back);
	fn_unref(f);
}

/* ---- all ------------------------------------------------------------------------------------------------------------------------------------------ */

typedef void (*Test)(T *t);

static void body(Ctx *c, void *arg) {
	struct {
		T *t;
		Test test;
	} *k = arg;
	(void)c;
	k->test(k->t);
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		Test test;
	} tests[] = {
		{"elementwise", test_elementwise}, {"f32", test_f32}, {"conventions", test_conventions}, {"shapes", test_shapes},
		{"indexing", test_indexing}, {"reductions", test_reductions}, {"contractions", test_contractions},
		{"factorisations", test_factorisations}, {"branches", test_branches}, {"try", test_try}, {"for", test_for},
		{"while", test_while}, {"calls", test_calls}, {"recursion", test_recursion}, {"host", test_host}, {"rules", test_rules},
		{"dynamic", test_dynamic}, {"failures", test_failures}, {"cost", test_cost}, {"scaling", test_scaling},
	};
	Tally tally = {0};
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
		if (argc > 1 && !strstr(tests[i].name, argv[1])) continue;
		Ctx *c = ctx_new(NULL);
		T t = {.tally = &tally, .c = c, .name = tests[i].name, .random = 12345 + i};
		ctx_set_slot(c, SLOT_API, &t, NULL);
		backend_init(c);
		autodiff_init(c);
		ir_services(c)->elementwise_rule = elementwise_rule;
		ir_services(c)->structural_rule = structural_rule;
		struct {
			T *t;
			Test test;
		} k = {&t, tests[i].test};
		if (ctx_protect(c, body, &k) != ST_OK) {
			check_at(&t, false, __LINE__, "stopped");
			show_diags(&t);
		}
		ctx_free(c);
	}
	printf("%u passed, %u failed\n", tally.passed, tally.failed);
	return tally.failed != 0;
}
