/* rule_check.c - the check of derivative rules from users and hosts against
 * finite differences.
 *
 * Method: at three points near the arguments, the rule's tangent is compared
 * with a central difference of fourth order: along each element, or along a few
 * random directions when there are many. For host functions, the transpose's
 * cotangent is compared too.
 *
 * Needs: rule_check.h, the services `run`, `linearise` and `transpose`.
 *
 * Contract:
 * - A check does not change the program's results.
 * - Failures of the function or its rule during the check are discarded; the
 *   program reports them itself when it reaches them.
 * - A point counts only when the differences of two step sizes agree, so that a
 *   kink or the edge of a domain causes no report.
 */
#include "lang/passes/rule_check.h"
#include <math.h>
#include <stdio.h>

enum { POINTS = 3, FEW_ELEMENTS = 32, RANDOM_DIRECTIONS = 6, SLOT_TRIES = 4 };

typedef struct RuleCheck {
	struct RuleCheck *next;
	Arena *a; /* holds all of it */
	HostId id;
	Span rule;
	Atom *names;
	bool *captures; /* by operand: it is a captured value */
	bool done;
} RuleCheck;

typedef struct RuleChecks {
	RuleCheckMode mode;
	/* A check is running. Checks nested in it are skipped until the program
	 * itself reaches them. */
	bool busy;
	RuleCheck *first;
} RuleChecks;

static RuleChecks *checks_of(Ctx *c) {
	IrServices *s = ir_services(c);
	if (!s->rule_checks) s->rule_checks = ARENA_NEW(ctx_arena(c), RuleChecks);
	return s->rule_checks;
}

void rule_check_set(Ctx *c, RuleCheckMode mode) { checks_of(c)->mode = mode; }

RuleCheckMode rule_check_mode(const Ctx *c) {
	const RuleChecks *r = ir_services((Ctx *)(uintptr_t)c)->rule_checks;
	return r ? r->mode : RULES_TRUSTED;
}

/* ---- values as vectors of scalars ---------------------------------------- */

/* The number of real scalars in a value that can have a tangent; 0 for any
 * other. */
static int64_t numbers_in(Value v) {
	if (!value_is_array(v) || !dtype_is_inexact(value_dtype(v))) return 0;
	return (v.kind == V_TENSOR ? v.tensor->count : 1) * (dtype_is_complex(value_dtype(v)) ? 2 : 1);
}

static bool read_numbers(Ctx *c, Value v, double *out) {
	const int64_t n = numbers_in(v);
	if (!n) return true;
	Tensor *t = value_to_tensor(c, v), *flat = t ? tensor_contiguous(c, t) : NULL;
	tensor_unref(t);
	if (!flat) return false;
	for (int64_t i = 0; i < n; i++)
		out[i] = dtype_real_of((Dtype)flat->dtype) == DT_F32 ? ((const float *)flat->data)[i]
		                                                     : ((const double *)flat->data)[i];
	tensor_unref(flat);
	return true;
}

/* A value like v with other scalars; V_UNSET when memory fails. */
static Value with_numbers(Ctx *c, Value v, const double *x) {
	const int64_t n = numbers_in(v);
	if (!n) return value_ref(v);
	Tensor *t = v.kind == V_TENSOR
	                ? tensor_new(c, (Dtype)v.tensor->dtype, v.tensor->rank, v.tensor->shape)
	                : tensor_new(c, (Dtype)v.dtype, 0, NULL);
	if (!t) return (Value){.kind = V_UNSET};
	for (int64_t i = 0; i < n; i++) {
		if (dtype_real_of((Dtype)t->dtype) == DT_F32) ((float *)t->data)[i] = (float)x[i];
		else ((double *)t->data)[i] = x[i];
	}
	return value_from_tensor(t);
}

/* ---- the functions under test -------------------------------------------- */

typedef struct Trial {
	Ctx *c;
	const RuleCheck *r;
	const HostCall *call;
	uint32_t nargs, nout;
	const Value *args;
	Fn *value;   /* x -> y */
	Fn *tangent; /* x, dx -> dy, of all results with a tangent */
	/* x -> y, residuals; residuals, w -> cotangents of x. NULL: not requested.
	 */
	Fn *primal, *back;
	uint32_t nresiduals;
	bool single;
	int64_t nx, ny; /* number of real scalars in arguments and results */
	double *x, *d, *y, *dy, *near[2], *far[2], *slope, *slope2, *w, *back_x;
} Trial;

/* The scalars of an argument along which a rule gives a tangent; captured
 * values are fixed. */
static int64_t argument_numbers(const Trial *t, uint32_t k) {
	return t->r->captures[k] ? 0 : numbers_in(t->args[k]);
}

static TypeId type_of_value(Ctx *c, Value v) {
	if (!value_is_array(v)) return type_dyn(c);
	Dim dims[MAX_RANK];
	for (uint32_t k = 0; k < value_rank(v); k++) dims[k] = dim_const(c, v.tensor->shape[k]);
	return type_tensor(c, value_dtype(v), value_rank(v), dims);
}

static void build_trial(Ctx *c, void *arg) {
	Trial *t = arg;
	Arena *a = arena_new(c);
	enum { MOST = 64 };
	for (int tangent = 0; tangent < 2; tangent++) {
		Builder *b = build_begin(c, atom(c, t->call->def->name), 0, NULL);
		Ref *x = ARENA_ARRAY(a, Ref, t->nargs + 1), *dx = ARENA_ARRAY(a, Ref, t->nargs + 1),
			y[MOST], dy[MOST];
		for (uint32_t k = 0; k < t->nargs; k++)
			x[k] = build_param(b, type_of_value(c, t->args[k]), 0);
		for (uint32_t k = 0; k < t->nargs && tangent; k++)
			dx[k] =
				argument_numbers(t, k) ? build_param(b, type_of_value(c, t->args[k]), 0) : REF_NONE;
		t->nout = build_host(b, t->r->id, t->nargs, x, y, MOST);
		if (!tangent) {
			t->value = build_end(b, t->nout, y);
			continue;
		}
		uint32_t n = 0;
		t->call->def->jvp(b, t->call, t->nargs, x, y, dx, dy);
		for (uint32_t k = 0; k < t->nout; k++) {
			const TypeId type = ref_type(build_fn(b), y[k]);
			if (type_has_tangent(c, type))
				dy[n++] = dy[k] != REF_NONE ? dy[k] : build_zeros(b, type);
		}
		t->tangent = build_end(b, n, dy);
	}
	arena_free(a);
}

/* Linearises and transposes, for the host's own vjp, which may be missing. */
static void build_back(Ctx *c, void *arg) {
	Trial *t = arg;
	bool active[64];
	for (uint32_t k = 0; k < t->nargs; k++) active[k] = argument_numbers(t, k) > 0;
	const bool *result_active;
	Fn *linear;
	ir_services(c)->linearise(c, t->value, active, &t->primal, &linear, &t->nresiduals,
	                          &result_active);
	t->back = ir_services(c)->transpose(c, linear, t->nresiduals);
}

/* Runs fn and stores the scalars of its results that can have a tangent.
 * Discards failures. */
static bool run_numbers(Trial *t, Fn *fn, const Value *args, double *out) {
	Value results[64];
	const uint32_t n = fn_nresults(fn), before = diag_total(t->c);
	if (n > 64) return false;
	bool good = ir_services(t->c)->run(t->c, fn, args, results) == ST_OK;
	diag_truncate(t->c, before);
	for (uint32_t k = 0; k < n && good; k++) {
		good = read_numbers(t->c, results[k], out);
		out += numbers_in(results[k]);
	}
	for (uint32_t k = 0; k < n; k++) value_unref(results[k]);
	return good;
}

static void drop(Value *v, uint32_t n) {
	for (uint32_t k = 0; k < n; k++) value_unref(v[k]);
}

/* The arguments shifted by step * d. */
static bool arguments_at(Trial *t, double step, Value *out) {
	double *x = t->near[0]; /* unused at this time; large enough for arguments and results */
	int64_t at = 0;
	for (uint32_t k = 0; k < t->nargs; k++) {
		const int64_t n = argument_numbers(t, k);
		for (int64_t i = 0; i < n; i++) x[i] = t->x[at + i] + (step != 0 ? step * t->d[at + i] : 0);
		out[k] = n ? with_numbers(t->c, t->args[k], x) : value_ref(t->args[k]);
		at += n;
		if (out[k].kind != V_UNSET) continue;
		drop(out, k);
		return false;
	}
	return true;
}

static bool value_at(Trial *t, double step, double *out) {
	Value args[64];
	if (!arguments_at(t, step, args)) return false;
	const bool good = run_numbers(t, t->value, args, out);
	drop(args, t->nargs);
	for (int64_t i = 0; i < t->ny && good; i++)
		if (!isfinite(out[i])) return false;
	return good;
}

/* The central difference of fourth order along d with step h. */
static bool difference(Trial *t, double h, double *out) {
	double *keep[4] = {t->near[1], t->far[0], t->far[1], t->back_x};
	static const double steps[4] = {1, -1, 2, -2};
	for (int k = 0; k < 4; k++)
		if (!value_at(t, steps[k] * h, keep[k])) return false;
	for (int64_t i = 0; i < t->ny; i++)
		out[i] = (8 * (keep[0][i] - keep[1][i]) - (keep[2][i] - keep[3][i])) / (12 * h);
	return true;
}

static bool tangent_at(Trial *t, double *out) {
	Value args[128];
	if (!arguments_at(t, 0, args)) return false;
	int64_t at = 0;
	uint32_t n = t->nargs;
	bool good = true;
	for (uint32_t k = 0; k < t->nargs; k++) {
		const int64_t m = argument_numbers(t, k);
		if (!m) continue;
		args[n] = with_numbers(t->c, t->args[k], t->d + at);
		at += m;
		good &= args[n++].kind != V_UNSET;
	}
	good = good && run_numbers(t, t->tangent, args, out);
	drop(args, n);
	return good;
}

/* The cotangent of x for the cotangent w. */
static bool cotangent_at(Trial *t, double *out) {
	Value args[64], mid[128];
	const uint32_t n = fn_nresults(t->primal), before = diag_total(t->c);
	uint32_t m = t->nresiduals;
	if (n > 100 || !arguments_at(t, 0, args)) return false;
	bool good = ir_services(t->c)->run(t->c, t->primal, args, mid) == ST_OK;
	diag_truncate(t->c, before);
	drop(args, t->nargs);
	if (!good) return false;
	int64_t at = 0;
	Value back[128];
	for (uint32_t k = 0; k < t->nresiduals; k++) back[k] = value_ref(mid[n - t->nresiduals + k]);
	for (uint32_t k = 0; k < n - t->nresiduals; k++) {
		if (!numbers_in(mid[k])) continue;
		back[m] = with_numbers(t->c, mid[k], t->w + at);
		at += numbers_in(mid[k]);
		good &= back[m++].kind != V_UNSET;
	}
	drop(mid, n);
	good = good && m == fn_nparams(t->back) && run_numbers(t, t->back, back, out);
	drop(back, m);
	return good;
}

/* ---- comparing ----------------------------------------------------------- */

static double uniform(uint64_t *seed) { /* in (-1, 1); Knuth's MMIX linear congruential generator */
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(int64_t)(*seed >> 11) / 4503599627370496.0 - 1;
}

/* "x[1, 2]", "the imaginary part of argument 2" */
static void name_number(const Trial *t, bool result, int64_t at, const Value *like, uint32_t n,
                        char *out, size_t cap) {
	uint32_t k = 0;
	for (; k + 1 < n; k++) {
		const int64_t here = result ? numbers_in(like[k]) : argument_numbers(t, k);
		if (at < here) break;
		at -= here;
	}
	const bool pair = dtype_is_complex(value_dtype(like[k]));
	size_t m = (size_t)snprintf(
		out, cap, "%s", pair ? (at & 1) ? "the imaginary part of " : "the real part of " : "");
	if (pair) at /= 2;
	const char *name =
		!result && t->r->names && t->r->names[k] ? atom_text(t->c, t->r->names[k]) : NULL;
	if (name) m += (size_t)snprintf(out + m, cap - m, "%s", name);
	else if (result && n == 1) m += (size_t)snprintf(out + m, cap - m, "y");
	else m += (size_t)snprintf(out + m, cap - m, result ? "result %u" : "argument %u", k);
	if (like[k].kind != V_TENSOR || m >= cap) return;
	int64_t index[MAX_RANK];
	for (uint32_t i = like[k].tensor->rank; i-- > 0;) {
		index[i] = at % like[k].tensor->shape[i];
		at /= like[k].tensor->shape[i];
	}
	for (uint32_t i = 0; i < like[k].tensor->rank && m < cap; i++)
		m += (size_t)snprintf(out + m, cap - m, "%s%lld", i ? ", " : "[", (long long)index[i]);
	if (m < cap) snprintf(out + m, cap - m, "]");
}

typedef struct Finding {
	bool wrong, reverse;
	int64_t x, y; /* x: -1 for a direction */
	double rule, found, at;
} Finding;

/* Whether the rule's value differs from a difference whose two step sizes
 * agree. */
static bool is_off(const Trial *t, double rule, double found, double found2, double size,
                   double h) {
	const double err = fabs(found - found2), noise = (t->single ? 1e-6 : 1e-15) * size / h;
	const double off = fabs(rule - found2),
				 allowed = 20 * err + 20 * noise +
	                       (t->single ? 1e-3 : 1e-6) * (fabs(found2) + fabs(rule));
	return isnan(rule) || off > allowed;
}

static void compare_along(Trial *t, int64_t j, double h, Finding *f) {
	if (!difference(t, h, t->slope) || !difference(t, h / 2, t->slope2)) return;
	double size = 0, wrule = 0, wfound = 0, wfound2 = 0;
	for (int64_t i = 0; i < t->ny; i++) {
		size = fmax(size, fabs(t->y[i]));
		wfound += t->w[i] * t->slope[i];
		wfound2 += t->w[i] * t->slope2[i];
	}
	if (tangent_at(t, t->dy))
		for (int64_t i = 0; i < t->ny; i++) {
			if (!is_off(t, t->dy[i], t->slope[i], t->slope2[i], size, h)) continue;
			*f = (Finding){.wrong = true,
			               .x = j,
			               .y = i,
			               .rule = t->dy[i],
			               .found = t->slope2[i],
			               .at = j >= 0 ? t->x[j] : 0};
			return;
		}
	if (!t->back || !cotangent_at(t, t->back_x)) return;
	for (int64_t i = 0; i < t->nx; i++) wrule += t->back_x[i] * t->d[i];
	if (!is_off(t, wrule, wfound, wfound2, size * (double)t->ny, h)) return;
	*f = (Finding){.wrong = true,
	               .reverse = true,
	               .x = j,
	               .rule = wrule,
	               .found = wfound2,
	               .at = j >= 0 ? t->x[j] : 0};
}

static double extent_of(double x) { return fmax(fabs(x), 0.01); }

static void compare_at(Trial *t, uint64_t *seed, Finding *f) {
	const double h = t->single ? 0.02 : 1e-3;
	const bool each = t->nx <= FEW_ELEMENTS;
	for (int64_t i = 0; i < t->ny; i++) t->w[i] = uniform(seed);
	for (int64_t k = 0; k < (each ? t->nx : RANDOM_DIRECTIONS) && !f->wrong; k++) {
		/* Along one element: a unit vector, with a step scaled to the element.
		 */
		for (int64_t i = 0; i < t->nx; i++)
			t->d[i] = each ? (i == k ? 1 : 0) : uniform(seed) * extent_of(t->x[i]);
		compare_along(t, each ? k : -1, each ? h * extent_of(t->x[k]) : h, f);
	}
}

static void report(Trial *t, const Finding *f) {
	char from[96] = "a random direction", to[96] = "", where[160] = "";
	Value results[64];
	const uint32_t before = diag_total(t->c);
	Value args[64];
	if (!arguments_at(t, 0, args)) return;
	const bool ran = ir_services(t->c)->run(t->c, t->value, args, results) == ST_OK;
	diag_truncate(t->c, before);
	if (f->x >= 0) {
		name_number(t, false, f->x, args, t->nargs, from, sizeof from);
		snprintf(where, sizeof where, " at %s = %.6g", from, f->at);
	}
	if (ran && !f->reverse) name_number(t, true, f->y, results, t->nout, to, sizeof to);
	drop(args, t->nargs);
	if (ran) drop(results, t->nout);
	const char *name = t->call->def->name, *rule = t->call->nfns ? "derivative rule"
	                                               : f->reverse  ? "vjp"
	                                                             : "jvp";
	char message[640];
	if (f->reverse)
		snprintf(message, sizeof message,
		         "the %s of `%s` gives %.9g for the derivative of a weighted sum of its results by "
		         "%s, its values %.9g%s",
		         rule, name, f->rule, from, f->found, where);
	else
		snprintf(message, sizeof message,
		         "the %s of `%s` gives %.9g for the derivative of %s by %s, its values %.9g%s",
		         rule, name, f->rule, to, from, f->found, where);
	const bool warn = rule_check_mode(t->c) == RULES_WARN;
	Diag *d = warn ? diag_warning(t->c, E_RULE_WRONG, t->r->rule, "%s", message)
	               : diag_error(t->c, E_RULE_WRONG, t->r->rule, "%s", message);
	diag_hint(t->c, d,
	          "correct the rule; one that differs on purpose runs without the check of rules");
}

static Status compare(Trial *t) {
	const int64_t most = (t->nx > t->ny ? t->nx : t->ny) + 1;
	const size_t bytes = 12 * (size_t)most * sizeof(double);
	double *memory = heap_alloc(t->c, bytes), *given = NULL,
		   **all[] = {&t->x,      &t->d,      &t->y,     &t->dy,     &t->near[0], &t->near[1],
	                  &t->far[0], &t->far[1], &t->slope, &t->slope2, &t->w,       &t->back_x};
	if (!memory) return ST_NOMEM;
	memset(memory, 0, bytes);
	for (int k = 0; k < 12; k++) *all[k] = memory + k * most;
	given = heap_alloc(t->c, (size_t)most * sizeof *given);
	Status st = given ? ST_OK : ST_NOMEM;
	uint64_t seed = 20060101;
	int64_t at = 0;
	for (uint32_t k = 0; k < t->nargs && st == ST_OK; k++) {
		if (!argument_numbers(t, k)) continue;
		if (!read_numbers(t->c, t->args[k], given + at)) st = ST_NOMEM;
		at += argument_numbers(t, k);
	}
	Finding f = {0};
	static const double spread[SLOT_TRIES] = {0.1, 0.03, 1e-2, 1e-3};
	for (int point = 0; point < POINTS && st == ST_OK && !f.wrong; point++) {
		bool good = false;
		/* closer, where the function has no value */
		for (int k = 0; k < SLOT_TRIES && !good; k++) {
			for (int64_t i = 0; i < t->nx; i++)
				t->x[i] = given[i] + spread[k] * uniform(&seed) * fmax(fabs(given[i]), 0.1);
			good = value_at(t, 0, t->y);
		}
		if (good) compare_at(t, &seed, &f);
		st = ctx_poll(t->c, 1);
	}
	if (f.wrong && st == ST_OK) {
		report(t, &f);
		if (rule_check_mode(t->c) != RULES_WARN) st = ST_ERROR;
	}
	if (given) heap_free(t->c, given, (size_t)most * sizeof *given);
	heap_free(t->c, memory, bytes);
	return st;
}

/* ---- the host call ------------------------------------------------------- */

static uint32_t check_types(Builder *b, const HostCall *call, const Ref *args, uint32_t nargs,
                            TypeId *out, uint32_t cap) {
	(void)b, (void)call, (void)args, (void)nargs, (void)out, (void)cap;
	return 0;
}

/* An operand of the first element of a map; V_UNSET when the map is empty. */
static Value first_lane(Ctx *c, Value v, int64_t axes) {
	Value out = value_ref(v);
	for (; axes > 0 && out.kind == V_TENSOR && out.tensor->rank; axes--) {
		Tensor *t = out.tensor,
			   *row = t->shape[0] ? tensor_view(c, t, t->rank - 1u, t->shape + 1, t->stride + 1, 0)
		                          : NULL;
		tensor_unref(t);
		if (!row) return (Value){.kind = V_UNSET};
		out = value_from_tensor(row);
	}
	return out;
}

/* Options: by operand, the number of leading axes that belong to maps. */
static Status check_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                         uint32_t nresults, Value *results) {
	RuleCheck *r = call->def->ud;
	RuleChecks *all = checks_of(c);
	(void)nresults, (void)results;
	if (r->done || all->busy || nargs > 60) return ST_OK;
	r->done = all->busy = true;
	Value own[64];
	Trial t = {.c = c, .r = r, .call = host_call(c, r->id), .nargs = nargs, .args = own};
	uint32_t n = 0;
	bool there = true;
	for (; n < nargs && there; n++) {
		own[n] = first_lane(c, args[n], call->noptions ? call->options[n] : 0);
		there = own[n].kind != V_UNSET;
		t.nx += there ? argument_numbers(&t, n) : 0;
		t.single |= numbers_in(own[n]) && dtype_real_of(value_dtype(own[n])) == DT_F32;
	}
	Status st = ST_OK;
	if (there && t.nx) {
		const uint32_t before = diag_total(c), mark = build_mark(c);
		if (ctx_protect(c, build_trial, &t) == ST_OK) {
			if (!t.call->nfns && ctx_protect(c, build_back, &t) != ST_OK) {
				build_unwind(c, mark);
				diag_truncate(c, before);
			}
			for (uint32_t k = 0; k < t.nout; k++) {
				const Type y = *ref_ty(t.value, fn_result(t.value, k));
				int64_t count = y.kind == TY_TENSOR && dtype_is_inexact((Dtype)y.dtype)
				                    ? dtype_is_complex((Dtype)y.dtype) ? 2 : 1
				                    : 0,
						length = 1;
				for (uint32_t i = 0; i < y.rank && count; i++)
					count *= dim_is_const(c, y.dims[i], &length) ? length : 0;
				t.ny += count;
			}
			if (t.ny) st = compare(&t);
		} else {
			build_unwind(c, mark);
			diag_truncate(c, before);
		}
		fn_unref(t.value);
		fn_unref(t.tangent);
	} else r->done = there; /* an empty map: check the next time */
	drop(own, n - (there ? 0 : 1));
	all->busy = false;
	if (st == ST_OK && ctx_stops(c)) st = ctx_poll(c, 0); /* perhaps not compared */
	if (st != ST_OK) r->done = false;
	return st;
}

/* There are no results, hence no tangents. */
static void check_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                      const Ref *results, const Ref *tangents, Ref *out) {
	(void)b, (void)call, (void)nargs, (void)args, (void)results, (void)tangents, (void)out;
}

static void check_batch(Builder *b, const HostCall *call, Dim n, uint32_t nargs, const Ref *args,
                        const bool *batched, Ref *results) {
	(void)n;
	Ctx *c = build_ctx(b);
	Arena *a = arena_new(c);
	int64_t *axes = ARENA_ARRAY(a, int64_t, nargs + 1);
	for (uint32_t k = 0; k < nargs; k++)
		axes[k] = (call->noptions ? call->options[k] : 0) + (batched[k] ? 1 : 0);
	build_host(b, host_call_intern(c, call->def, 0, NULL, nargs, axes), nargs, args, results, 0);
	arena_free(a);
}

static void free_check(Ctx *c, void *ud) {
	RuleCheck *r = ud, **at = &checks_of(c)->first;
	while (*at && *at != r) at = &(*at)->next;
	if (*at) *at = r->next;
	arena_free(r->a);
}

static void each_check(const void *ud, const RefVisitor *v) {
	v->host(v->ud, ((const RuleCheck *)ud)->id);
}

void rule_check_emit(Builder *b, HostId id, uint32_t nargs, const Ref *args, const Atom *names,
                     Span rule) {
	Ctx *c = build_ctx(b);
	RuleChecks *all = checks_of(c);
	if (all->mode == RULES_TRUSTED) return;
	RuleCheck *r = all->first;
	while (r && r->id != id) r = r->next;
	if (!r) {
		Arena *a = arena_small(c);
		r = ARENA_NEW(a, RuleCheck);
		*r = (RuleCheck){.next = all->first,
		                 .a = a,
		                 .id = id,
		                 .rule = rule,
		                 .names = ARENA_ARRAY(a, Atom, nargs + 1),
		                 .captures = ARENA_ARRAY(a, bool, nargs + 1)};
		for (uint32_t k = 0; k < nargs && names; k++) {
			r->names[k] = names[k];
			r->captures[k] = !names[k];
		}
	}
	const HostDef def = {.name = "check of a derivative rule",
	                     .ud = r,
	                     .types = check_types,
	                     .eval = check_eval,
	                     .jvp = check_jvp,
	                     .batch = check_batch,
	                     .free_ud = free_check,
	                     .each_ud = each_check};
	const HostId check = host_call_intern(c, &def, 0, NULL, 0, NULL);
	/* Only now is there a call whose end removes it. */
	if (r->next == all->first) all->first = r;
	build_host(b, check, nargs, args, NULL, 0);
}
