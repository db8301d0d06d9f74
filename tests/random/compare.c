/* compare.c - implementation of compare.h.
 *
 * Needs: compare.h; generate.h for random numbers.
 *
 * Guarantees: auxiliary runs leave no diagnostics.
 */
#include "tests/random/compare.h"
#include "backend/native/jit/tier.h"
#include "tests/random/generate.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHAKES = 16 };

/* ---- outcomes ------------------------------------------------------------ */

/* One engine runs at a time. */
static uint64_t output_hash;

static void take_output(void *ud, const char *text, size_t n) {
	(void)ud;
	for (size_t i = 0; i < n; i++) output_hash = random_mix(output_hash, (unsigned char)text[i]);
}

void *room(size_t n, size_t size) {
	void *p = calloc(n + 1, size);
	if (!p) abort();
	return p;
}

void drop(uint32_t n, Value *v) {
	for (uint32_t k = 0; v && k < n; k++) value_unref(v[k]);
	free(v);
}

bool ask(Ctx *c, void *arg, void (*body)(Ctx *c, void *arg)) {
	const uint32_t mark = build_mark(c);
	if (ctx_protect(c, body, arg) == ST_OK) return true;
	build_unwind(c, mark);
	diag_clear(c);
	return false;
}

void capture_output(Ctx *c) { ctx_set_output(c, take_output, NULL); }

Outcome outcome_of(Ctx *c, EngineRun run, Fn *f, const Value *args) {
	Outcome o = {.n = fn_nresults(f), .code = -1};
	o.results = calloc(o.n + 1, sizeof *o.results);
	if (!o.results) abort();
	output_hash = 0;
	diag_clear(c);
	o.status = run(c, f, args, o.results);
	o.printed = output_hash;
	if (diag_total(c)) {
		o.code = (int)diag_at(c, 0)->code;
		snprintf(o.message, sizeof o.message, "%s %s", diag_code_id(diag_at(c, 0)->code),
		         diag_at(c, 0)->message);
	}
	diag_clear(c);
	return o;
}

void outcome_free(Outcome *o) {
	for (uint32_t k = 0; k < o->n && o->results; k++) value_unref(o->results[k]);
	free(o->results);
	*o = (Outcome){.code = -1};
}

/* ---- perturbed roundings ------------------------------------------------- */

typedef struct Shake {
	Fn *f, *out;
	uint64_t seed;
	double f64_by, f32_by;
} Shake;

/* Each element gets a different factor, as engines round each element
 * separately: of two equal elements one becomes larger. */
static Ref factors(Builder *b, const Type *t, uint64_t *state, double by) {
	Ctx *c = build_fn(b)->ctx;
	Ref phase = build_f64(b, random_between(state, -3, 3));
	if (!t->rank) return build_f64(b, 1 + (random_below(state, 2) ? by : -by));
	Ref sum = build_broadcast(b, phase, t->rank, t->dims, NULL);
	for (uint32_t k = 0; k < t->rank; k++) {
		int axis = (int)k;
		Ref along = build_iota(b, DT_F64, t->dims[k]);
		along = build2(
			b, OP_MUL, along,
			build_full(b, type_tensor(c, DT_F64, 1, &t->dims[k]), random_between(state, 1, 5)));
		sum = build2(b, OP_ADD, sum, build_broadcast(b, along, t->rank, t->dims, &axis));
	}
	TypeId all = type_tensor(c, DT_F64, t->rank, t->dims);
	return build2(b, OP_ADD, build2(b, OP_MUL, build1(b, OP_SIN, sum), build_full(b, all, by)),
	              build_full(b, all, 1));
}

static Ref nudged(Builder *b, Ref r, uint64_t *state, const Shake *s) {
	Type t = *ref_ty(build_fn(b), r);
	if (t.kind != TY_TENSOR || !dtype_is_inexact((Dtype)t.dtype)) return r;
	double by = dtype_real_of((Dtype)t.dtype) == DT_F32 ? s->f32_by : s->f64_by;
	return build2(b, OP_MUL, r, build_convert(b, factors(b, &t, state, by), (Dtype)t.dtype));
}

/* Returns whether an operation only moves or selects values, without rounding.
 * This matters because derivatives compare elements with their maximum. */
static bool is_exact(Op op, uint32_t nargs) {
	switch (op) {
	case OP_IOTA:
	case OP_UPDATE:
	case OP_GATHER:
	case OP_SCATTER_SET:
	case OP_CONCAT:
	case OP_PUSH:
	case OP_SELECT:
	case OP_STOP: return true;
	case OP_REDUCE_MAX:
	case OP_REDUCE_MIN:
	case OP_MAX:
	case OP_MIN:
	case OP_ABS:
	case OP_SIGN:
	case OP_FLOOR:
	case OP_ROUND: return true;
	case OP_REDUCE_SUM:
	case OP_CUMSUM:
	case OP_FFT: return false;
	default: return prims[op].deriv == DERIV_LINEAR && nargs == 1;
	}
}

typedef struct Shaking {
	const Shake *s;
	uint64_t state;
	bool again; /* an instruction is copied with other operands */
} Shaking;

/* The rounding error of a sum scales with its terms, even when the sum is
 * small. */
static void shake_terms(Builder *b, RefMap *m, const Inst *in) {
	Shaking *k = m->copied_ud;
	const Ref x = inst_arg(m->from, in, 0), old = refmap_get(b, m, x);
	if (!ref_is_value(x)) return;
	refmap_set(m, x, nudged(b, old, &k->state, k->s));
	k->again = true;
	build_copy_inst(b, m, in);
	k->again = false;
	refmap_set(m, x, old);
}

/* Perturbs the values only; the extents are known already. */
static void shake_results(Builder *b, RefMap *m, const Inst *in) {
	Shaking *k = m->copied_ud;
	const uint32_t results = in->results, n = in->nresults;
	if (k->again || is_exact((Op)in->op, in->nargs)) return;
	if (in->op == OP_REDUCE_SUM || in->op == OP_CUMSUM || in->op == OP_DOT || in->op == OP_FFT)
		shake_terms(b, m, in);
	for (uint32_t i = 0; i < n; i++)
		m->values[results + i] = nudged(b, m->values[results + i], &k->state, k->s);
}

/* Multiplies the results of every instruction by factors, also in loops and
 * branches. */
static void make_shaken(Ctx *c, void *arg) {
	Shake *s = arg;
	Fn *f = s->f;
	Builder *b = build_begin(c, f->name, f->span, f);
	RefMap m = refmap_new(b, f, true);
	Shaking shaking = {.s = s, .state = s->seed};
	m.copied = shake_results;
	m.copied_ud = &shaking;
	const Region body = f->regions.at[0];
	for (uint32_t k = 0; k < body.nparams; k++)
		refmap_set(&m, fn_param(f, k), build_param(b, ref_type(f, fn_param(f, k)), 0));
	for (uint32_t i = 0; i < body.ninsts; i++)
		build_copy_inst(b, &m, &f->insts.at[f->inst_order.at[body.insts + i]]);
	uint32_t n = fn_nresults(f);
	Ref *results = ARENA_ARRAY(ctx_arena(c), Ref, n + 1);
	for (uint32_t k = 0; k < n; k++) results[k] = refmap_get(b, &m, fn_result(f, k));
	s->out = build_end(b, n, results);
}

Fn *with_other_roundings(Ctx *c, Fn *f, uint64_t seed, double f64_by, double f32_by) {
	Fn *flat = fn_inline_calls(c, f); /* callees round as well */
	Shake s = {.f = flat ? flat : f, .seed = seed, .f64_by = f64_by, .f32_by = f32_by};
	uint32_t mark = build_mark(c);
	if (ctx_protect(c, make_shaken, &s) != ST_OK) {
		build_unwind(c, mark);
		diag_clear(c);
		s.out = NULL;
	}
	if (flat) fn_unref(flat);
	return s.out;
}

/* ---- arrays -------------------------------------------------------------- */

typedef struct Numbers { /* real and imaginary parts in row-major order */
	Dtype dtype;
	uint32_t rank;
	int64_t shape[MAX_RANK], count;
	double _Complex *at;
} Numbers;

static Numbers numbers_of(Ctx *c, Value v) {
	Numbers x = {0};
	Tensor *t = value_to_tensor(c, v), *flat = t ? tensor_contiguous(c, t) : NULL;
	if (!flat) abort();
	x.dtype = (Dtype)flat->dtype;
	x.rank = flat->rank;
	x.count = flat->count;
	memcpy(x.shape, flat->shape, sizeof x.shape);
	x.at = malloc((size_t)(x.count + 1) * sizeof *x.at);
	if (!x.at) abort();
	for (int64_t i = 0; i < x.count; i++)
		scalar_convert(x.dtype, flat->data + (size_t)i * dtype_size(x.dtype), DT_C128, &x.at[i]);
	tensor_unref(flat);
	tensor_unref(t);
	return x;
}

static double distance(double _Complex a, double _Complex b) {
	double x[2] = {creal(a), cimag(a)}, y[2] = {creal(b), cimag(b)}, d[2];
	for (int k = 0; k < 2; k++)
		d[k] = x[k] == y[k] || (isnan(x[k]) && isnan(y[k])) ? 0 : fabs(x[k] - y[k]);
	double both = hypot(d[0], d[1]);
	return isnan(both) ? INFINITY : both;
}

static double largest(const Numbers *x) {
	double most = 0;
	for (int64_t i = 0; i < x->count; i++) {
		double m = cabs(x->at[i]);
		if (isfinite(m) && m > most) most = m;
	}
	return most;
}

static void describe_place(const Numbers *x, int64_t flat, char *out, size_t cap) {
	int64_t index[MAX_RANK] = {0};
	for (uint32_t k = x->rank; k-- > 0;) {
		index[k] = x->shape[k] ? flat % x->shape[k] : 0;
		flat /= x->shape[k] ? x->shape[k] : 1;
	}
	size_t n = (size_t)snprintf(out, cap, "[");
	for (uint32_t k = 0; k < x->rank && n + 24 < cap; k++)
		n += (size_t)snprintf(out + n, cap - n, "%s%lld", k ? ", " : "", (long long)index[k]);
	snprintf(out + n, cap - n, "]");
}

static void describe(char *out, size_t cap, const Numbers *x, const Numbers *y, int64_t i,
                     double allowed) {
	char place[160];
	describe_place(x, i, place, sizeof place);
	if (dtype_is_complex(x->dtype))
		snprintf(out, cap,
		         "element %s is %.17g%+.17gi, not %.17g%+.17gi (off by %.3g, allowed %.3g)", place,
		         creal(y->at[i]), cimag(y->at[i]), creal(x->at[i]), cimag(x->at[i]),
		         distance(x->at[i], y->at[i]), allowed);
	else
		snprintf(out, cap, "element %s is %.17g, not %.17g (off by %.3g, allowed %.3g)", place,
		         creal(y->at[i]), creal(x->at[i]), distance(x->at[i], y->at[i]), allowed);
}

/* ---- sensitivity to roundings -------------------------------------------- */

/* One batch of perturbed runs at a time; the first usually decides. */
typedef struct Sensitivity {
	uint32_t most;    /* maximum number of batches */
	uint32_t batches; /* batches that have run; `shaken` has the last one */
	uint32_t n;       /* runs of the last batch that succeeded */
	Outcome shaken[SHAKES];
	/* Whether any run of any batch succeeded, or failed. If both, success
	 * depends on a rounding. */
	bool ended, failed;
} Sensitivity;

static void forget(Sensitivity *s) {
	for (uint32_t k = 0; k < s->n; k++) outcome_free(&s->shaken[k]);
	s->n = 0;
}

static Status run_evaluator(Ctx *c, Fn *f, const Value *args, Value *results) {
	Code *code = code_of(c, f);
	return code ? code_call(c, code, args, results) : ST_NOMEM;
}

/* Runs the next batch; returns false when the maximum is reached. In a chaotic
 * program one run in a hundred may differ. */
static bool measure(Ctx *c, Fn *f, const Value *args, Sensitivity *s) {
	if (s->batches == s->most) return false;
	forget(s);
	const uint64_t first = (uint64_t)s->batches++ * SHAKES;
	for (uint64_t k = first; k < first + SHAKES; k++) {
		/* Large and small changes alternate: a small one can make a tie, a
		 * large one breaks it. */
		Fn *g =
			with_other_roundings(c, f, k * 77 + 5, k % 2 ? 3e-16 : 1e-13, k % 2 ? 1.5e-7 : 1e-6);
		if (!g) continue;
		Outcome o = outcome_of(c, run_evaluator, g, args);
		fn_unref(g);
		if (o.status == ST_OK) {
			s->ended = true;
			s->shaken[s->n++] = o;
		} else {
			s->failed = true;
			outcome_free(&o);
		}
	}
	return true;
}

/* Updates the largest change of each element. Returns true when the result
 * jumps. */
static bool movement(Ctx *c, const Sensitivity *s, uint32_t k, const Numbers *want, double scale,
                     double *moved) {
	bool jumps = false;
	for (uint32_t run = 0; run < s->n && !jumps; run++) {
		Numbers x = numbers_of(c, s->shaken[run].results[k]);
		jumps = x.rank != want->rank || memcmp(x.shape, want->shape, x.rank * sizeof *x.shape);
		for (int64_t i = 0; i < x.count && !jumps; i++) {
			double d = distance(x.at[i], want->at[i]);
			if (!dtype_is_inexact(x.dtype)) jumps = d > 0;
			else if (!(d <= 1e-3 * scale)) jumps = true;
			if (d > moved[i]) moved[i] = d;
		}
		free(x.at);
	}
	return jumps;
}

/* ---- results computed from f32 ------------------------------------------- */

static bool is_single(const Fn *f, Ref r) {
	const Type *t = ref_ty(f, r);
	return t->kind == TY_TENSOR && dtype_is_inexact((Dtype)t->dtype) &&
	       dtype_real_of((Dtype)t->dtype) == DT_F32;
}

bool holds_f32(const Fn *f) {
	Arena *scratch = arena_new(f->ctx);
	uint32_t n;
	const Fn **all = fn_callees(scratch, f, false, &n);
	bool found = false;
	for (uint32_t i = 0; i < n && !found; i++)
		for (uint32_t k = 0; k < all[i]->vals.n && !found; k++)
			found = is_single(all[i], ref_value(k));
	arena_free(scratch);
	return found;
}

/* Marks the values of a region, and of inner regions, that are f32 or depend on
 * one. Returns whether there are any. */
static bool mark_single(const Ctx *c, const Fn *f, const Region *r, bool *marked) {
	bool any = false;
	for (uint32_t k = 0; k < r->nparams; k++)
		any |= marked[r->params + k] |= is_single(f, ref_value(r->params + k));
	for (uint32_t i = 0; i < r->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[r->insts + i]];
		bool single = false;
		for (uint32_t k = 0; k < in->nargs; k++) {
			Ref a = inst_arg(f, in, k);
			single |= ref_is_value(a) ? marked[REF_INDEX(a)] : is_single(f, a);
		}
		for (uint32_t k = 0; k < in->nregions; k++)
			single |= mark_single(c, f, inst_region(f, in, k), marked);
		if (in->op == OP_CALL) {
			const Fn *callee = inst_callee(c, in);
			single |= callee && callee != f && holds_f32(callee);
		}
		for (uint32_t k = 0; k < in->nresults; k++)
			marked[in->results + k] = single || is_single(f, inst_result(in, k));
		any |= single || (in->nresults && marked[in->results]);
	}
	for (uint32_t k = 0; k < r->nresults; k++) {
		Ref v = f->args.at[r->results + k];
		any |= ref_is_value(v) && marked[REF_INDEX(v)];
	}
	return any;
}

static bool comes_from_single(const Ctx *c, const Fn *f, uint32_t result) {
	bool *marked = calloc(f->vals.n + 1, 1);
	if (!marked) abort();
	mark_single(c, f, &f->regions.at[0], marked);
	Ref r = fn_result(f, result);
	bool single = ref_is_value(r) ? marked[REF_INDEX(r)] : is_single(f, r);
	free(marked);
	return single;
}

/* ---- verdicts ------------------------------------------------------------ */

/* Returns false when result k differs; then v has the message. */
/* By element, n + 1: what roundings of terms that cancel contribute. */
static double *cancelled(Ctx *c, Value terms, int64_t n) {
	double *out = room((size_t)n, sizeof *out);
	if (terms.kind == V_UNSET) return out;
	Numbers t = numbers_of(c, terms);
	for (int64_t i = 0; i < n && i < t.count; i++) out[i] = 64 * DBL_EPSILON * cabs(t.at[i]);
	free(t.at);
	return out;
}

static bool arrays_agree(Ctx *c, Fn *f, const Value *args, Value a, Value b, Value terms,
                         uint32_t k, Sensitivity *s, Verdict *v) {
	if (!value_is_array(a) || !value_is_array(b)) {
		if (a.kind == b.kind && (a.kind == V_TOKEN || value_identical(a, b))) return true;
		snprintf(v->why, sizeof v->why, "the values are of different kinds or texts");
		return false;
	}
	Numbers x = numbers_of(c, a), y = numbers_of(c, b);
	bool shapes = x.dtype == y.dtype && x.rank == y.rank &&
	              !memcmp(x.shape, y.shape, x.rank * sizeof *x.shape);
	const bool single = comes_from_single(c, f, k);
	double scale = fmax(largest(&x), single ? 0.1 : 0.01), base = !dtype_is_inexact(x.dtype) ? 0
	                                                              : single                   ? 1e-4
	                                                                       : 1e-11;
	int64_t bad = -1;
	double *cancels = cancelled(c, terms, x.count);
	for (int64_t i = 0; shapes && i < x.count && bad < 0; i++)
		if (!(distance(x.at[i], y.at[i]) <= base * scale + cancels[i])) bad = i;
	bool good = shapes && bad < 0;
	if (!good) {
		double *moved = calloc((size_t)x.count + 1, sizeof *moved), allowed = base * scale;
		if (!moved) abort();
		s->batches = 0; /* every result gets all batches */
		while (!good && measure(c, f, args, s)) {
			if (movement(c, s, k, &x, scale, moved) || (!shapes && s->failed)) {
				good = v->lenient = true;
				v->jumps = k;
			} else if (shapes) {
				good = true;
				for (int64_t i = bad; i < x.count && good; i++) {
					allowed = base * scale + 16 * moved[i] + cancels[i];
					good = distance(x.at[i], y.at[i]) <= allowed;
					bad = i;
				}
			}
		}
		if (!good && shapes) describe(v->why, sizeof v->why, &x, &y, bad, allowed);
		if (!good && !shapes)
			snprintf(v->why, sizeof v->why, "the results differ in dtype or shape");
		free(moved);
	}
	free(cancels);
	free(x.at);
	free(y.at);
	return good;
}

static void say_bits(Ctx *c, Value a, Value b, Verdict *v) {
	snprintf(v->why, sizeof v->why, "the results differ in type or bits");
	if (!value_is_array(a) || !value_is_array(b)) return;
	Numbers x = numbers_of(c, a), y = numbers_of(c, b);
	if (x.count == y.count && x.rank == y.rank)
		for (int64_t i = 0; i < x.count; i++) {
			double d = distance(x.at[i], y.at[i]);
			if (d == 0 && signbit(creal(x.at[i])) == signbit(creal(y.at[i])) &&
			    signbit(cimag(x.at[i])) == signbit(cimag(y.at[i])))
				continue;
			describe(v->why, sizeof v->why, &x, &y, i, 0);
			break;
		}
	free(x.at);
	free(y.at);
}

Verdict compare_outcomes(Ctx *c, Fn *f, const Value *args, const Outcome *want, const Outcome *got,
                         bool exact, uint32_t batches) {
	Verdict v = {.same = true};
	Sensitivity s = {.most = batches};
	if (want->status != got->status || want->code != got->code) {
		v.same = false;
		snprintf(v.why, sizeof v.why, "status %d (%s) and not %d (%s)", got->status, got->message,
		         want->status, want->message);
		while (!v.same && !exact && measure(c, f, args, &s))
			v.same = v.lenient = want->status == ST_OK ? s.failed : s.ended;
	} else if (want->status == ST_OK) {
		for (uint32_t k = 0; k < want->n && v.same; k++) {
			Value a = want->results[k], b = got->results[k];
			v.result = k;
			if (exact) {
				v.same = a.kind == b.kind && (a.kind == V_TOKEN || value_identical(a, b));
				if (!v.same) say_bits(c, a, b, &v);
			} else {
				const Value terms = got->terms ? got->terms[k] : (Value){.kind = V_UNSET};
				v.same = arrays_agree(c, f, args, a, b, terms, k, &s, &v);
			}
		}
	}
	if (v.same && !v.lenient && want->printed != got->printed) {
		s.batches = 0;
		/* for example the argmax of a tie */
		while (!v.lenient && !exact && measure(c, f, args, &s))
			for (uint32_t k = 0; k < s.n; k++) v.lenient |= s.shaken[k].printed != want->printed;
		v.same = v.lenient;
		snprintf(v.why, sizeof v.why, "the output differs");
	}
	forget(&s);
	return v;
}
