/* sundials.c - operands and compiled functions of a solve.
 *
 * Needs: sundials.h.
 *
 * Contract: as in sundials.h. A callback never throws through SUNDIALS. It
 * stores a status in the Solve and returns -1, and the integrator stops at
 * once. It returns 1 for a failure that a smaller step may avoid.
 */
#include "solvers/sundials/modules/sundials.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- operands ------------------------------------------------------------ */

int64_t value_count(Value v) { return v.kind == V_TENSOR ? v.tensor->count : 1; }

bool solve_can_count(Solve *s, int64_t count, const char *what) {
	if (count <= SUNDIALS_INDEX_MAX) return true;
	diag_error(s->c, E_VALUE, NO_SPAN, "%lld %s are too many: the SUNDIALS here has 32-bit indices",
	           (long long)count, what);
	s->status = ST_ERROR;
	return false;
}

static bool nomem(Solve *s) {
	s->status = ST_NOMEM;
	return false;
}

static bool wrong(Solve *s, const char *what, Value v, int64_t n, const char *kind) {
	Text found;
	text_init(&found, s->c);
	value_type_print(&found, v);
	diag_error(s->c, E_SHAPE, NO_SPAN, "%s: expected %lld %s, found %.*s", what, (long long)n, kind,
	           found.failed ? 1 : (int)found.n,
	           found.failed ? "?"
	           : found.at   ? found.at
	                        : "");
	text_free(&found);
	s->status = ST_ERROR;
	return false;
}

/* The operand as a contiguous tensor of the dtype, released by solve_end. */
static const char *elements(Solve *s, Value v, Dtype d) {
	Tensor *t = NULL;
	if (s->nkept == sizeof s->kept / sizeof *s->kept) {
		diag_error(s->c, E_INTERNAL, NO_SPAN, "a solver keeps too many operands");
		s->status = ST_INTERNAL;
		return NULL;
	}
	if (v.kind == V_TENSOR && v.tensor->dtype == d) {
		t = tensor_contiguous(s->c, v.tensor);
	} else {
		Tensor *from = value_to_tensor(s->c, v);
		t = from ? tensor_new(s->c, d, from->rank, from->shape) : NULL;
		if (t) tensor_convert_into(t, from);
		tensor_unref(from);
	}
	if (!t) {
		nomem(s);
		return NULL;
	}
	s->kept[s->nkept++] = t;
	return t->data;
}

bool solve_numbers(Solve *s, Value v, const char *what, int64_t n, const double **out) {
	if (!value_is_array(v) || dtype_is_complex(value_dtype(v)) || value_count(v) != n)
		return wrong(s, what, v, n, "real numbers");
	*out = (const double *)(const void *)elements(s, v, DT_F64);
	return *out != NULL;
}

bool solve_indices(Solve *s, Value v, const char *what, int64_t n, const int64_t **out) {
	if (!value_is_array(v) || !dtype_is_int(value_dtype(v)) || value_count(v) != n)
		return wrong(s, what, v, n, "integers");
	*out = (const int64_t *)(const void *)elements(s, v, DT_I64);
	return *out != NULL;
}

bool solve_number(Solve *s, Value v, const char *what, double *out) {
	if (value_as_f64(v, out) && isfinite(*out)) return true;
	diag_error(s->c, E_VALUE, NO_SPAN, "%s must be a finite number", what);
	s->status = ST_ERROR;
	return false;
}

static Status bad_value(Solve *s, const char *text) {
	diag_error(s->c, E_VALUE, NO_SPAN, "%s", text);
	return ST_ERROR;
}

static Status check_values(Solve *s, const IvpInput *in) {
	if (in->rtol < 0 || in->max_step < 0)
		return bad_value(s, "rtol and the largest step cannot be negative");
	for (int64_t i = 0; i < in->n; i++) {
		if (!isfinite(in->y0[i])) {
			diag_error(s->c, E_VALUE, NO_SPAN, "initial value %lld is %s", (long long)i,
			           isnan(in->y0[i]) ? "NaN" : "infinite");
			return ST_ERROR;
		}
		if (!(in->atol[i] >= 0)) return bad_value(s, "atol must be zero or more");
		if (in->atol[i] > 0 || (in->rtol > 0 && in->y0[i] != 0)) continue;
		diag_error(s->c, E_VALUE, NO_SPAN,
		           "y[%lld] has nothing to measure its error by: its atol is 0, and rtol or its "
		           "initial value too",
		           (long long)i);
		return ST_ERROR;
	}
	return in->at ? check_times(s->c, in->t0, in->t1, in->at, in->nat) : ST_OK;
}

Status given_read(Solve *s, IvpInput *in, const GivenAt *where, const Value *args) {
	in->n = value_count(args[where->y0]);
	in->nat = value_count(args[where->saveat]);
	if (!in->n)
		return bad_value(s, "a differential equation needs an unknown: the initial value is empty");
	if (!solve_can_count(s, in->n, "unknowns")) return s->status;
	if (!solve_numbers(s, args[where->y0], "the initial value", in->n, &in->y0)) return s->status;
	if (!solve_number(s, args[where->t0], "the first time", &in->t0)) return s->status;
	if (!solve_number(s, args[where->t1], "the last time", &in->t1)) return s->status;
	if (!solve_number(s, args[where->rtol], "rtol", &in->rtol)) return s->status;
	if (!solve_number(s, args[where->max_step], "the largest step", &in->max_step))
		return s->status;
	if (!solve_numbers(s, args[where->atol], "atol", in->n, &in->atol)) return s->status;
	const char *what = "the times at which the solution is wanted";
	if (in->nat && !solve_numbers(s, args[where->saveat], what, in->nat, &in->at)) return s->status;
	return check_values(s, in);
}

/* ---- names for messages -------------------------------------------------- */

void solve_names(Solve *s, const HostCall *call, uint32_t noptions) {
	const char **out[2] = {&s->names, &s->equations};
	for (int k = 0; k < 2 && noptions < call->noptions; k++) {
		const int64_t n = call->options[noptions++];
		if (n <= 0 || n > (int64_t)call->noptions - (int64_t)noptions) return;
		const char *text = (const char *)(const void *)(call->options + noptions);
		if (text[n * (int64_t)sizeof(int64_t) - 1]) return; /* the string must be terminated */
		*out[k] = *text ? text : NULL;
		noptions += (uint32_t)n;
	}
}

const char *name_of(const char *names, int64_t i, char *out, size_t cap) {
	for (const char *line = names; line && *line;) {
		const char *tab = strchr(line, '\t'), *end = tab ? strchr(tab, '\n') : NULL;
		if (!end) return NULL;
		const int64_t n = strtoll(tab + 1, NULL, 10), numbers = n > 0 ? n : 1;
		if (i < numbers) {
			if (n > 0) snprintf(out, cap, "%.*s[%lld]", (int)(tab - line), line, (long long)i);
			else snprintf(out, cap, "%.*s", (int)(tab - line), line);
			return out;
		}
		i -= numbers;
		line = end + 1;
	}
	return NULL;
}

/* ---- function arguments -------------------------------------------------- */

Status routine_begin(Solve *s, Callback *r, Fn *fn, const char *what, uint32_t ncaptured,
                     const Value *captured) {
	*r = (Callback){.fn = fn,
	                .what = what,
	                .nargs = fn_nparams(fn),
	                .nresults = fn_nresults(fn),
	                .ncaptured = ncaptured};
	r->code = code_of(s->c, fn);
	r->args = heap_alloc(s->c, (r->nargs + r->nresults + 1u) * sizeof *r->args);
	if (!r->code) return ctx_failure(s->c);
	if (!r->args) return ST_NOMEM;
	r->results = r->args + r->nargs;
	for (uint32_t k = 0; k < r->nargs + r->nresults; k++)
		r->args[k] = k < ncaptured ? captured[k] : (Value){.kind = V_UNSET};
	return ST_OK;
}

void routine_end(Solve *s, Callback *r) {
	direct_end(r->direct);
	if (r->args) heap_free(s->c, r->args, (r->nargs + r->nresults + 1u) * sizeof *r->args);
	*r = (Callback){0};
}

/* into: where result 0 is written if the routine can be called directly.
 * *there: whether it was. */
static int run_into(Solve *s, Callback *r, Tensor *into, bool *there) {
	if (s->status != ST_OK) return -1;
	r->calls++;
	*there = false;
	Status st = ctx_poll(s->c, 1);
	if (st == ST_OK && !r->direct && !r->indirect)
		r->direct = direct_begin(s->c, r->code, r->args, &r->indirect);
	if (st == ST_OK && r->direct) {
		const Value *results;
		st = direct_call(r->direct, r->args, into, &results);
		*there = st == ST_OK && into;
		for (uint32_t k = 0; st == ST_OK && k < r->nresults; k++)
			r->results[k] = value_ref(results[k]);
	} else if (st == ST_OK) {
		st = code_call(s->c, r->code, r->args, r->results);
	}
	if (st == ST_OK) return 0;
	if (st == ST_ERROR && r->of && diag_total(s->c)) {
		/* an error of the equations: add the time, and drop a source location
		 * inside the library */
		Diag *d = (Diag *)(uintptr_t)diag_at(s->c, diag_total(s->c) - 1);
		double t = 0;
		value_as_f64(r->args[r->ncaptured], &t);
		diag_trace(s->c, d, "in %s, at t = %.9g", r->what, t);
		if (source_is_library(s->c, d->span.source)) d->span = NO_SPAN;
	}
	s->status = st;
	return -1;
}

int routine_run(Solve *s, Callback *r) {
	bool there;
	return run_into(s, r, NULL, &there);
}

void routine_drop(Callback *r) {
	for (uint32_t k = 0; k < r->nresults; k++) {
		value_unref(r->results[k]);
		r->results[k].kind = V_UNSET;
	}
}

/* 0 * x is 0 for every finite x, so the sum is 0 if all are finite; the loop
 * has no branch. */
static bool all_finite(const double *x, int64_t n) {
	double sum = 0;
	for (int64_t i = 0; i < n; i++) sum += 0 * x[i];
	return sum == 0;
}

/* Returns 0, or 1 if a value is not finite, which is recorded in the Solve. */
static int finite_or_told(Solve *s, const Callback *r, double t, int64_t n, const double *x) {
	if (all_finite(x, n)) return 0;
	s->bad = r->what;
	s->bad_time = t;
	s->bad_of = r->of;
	for (s->bad_at = 0; isfinite(x[s->bad_at]);) s->bad_at++;
	return 1;
}

int routine_numbers(Solve *s, Callback *r, uint32_t k, int64_t n, double t, const double **out) {
	Value *v = &r->results[k];
	if (!value_is_array(*v) || dtype_is_complex(value_dtype(*v)) || value_count(*v) != n) {
		wrong(s, r->what, *v, n, "real numbers");
		return -1;
	}
	if (v->kind == V_SCALAR) {
		double x = 0;
		value_as_f64(*v, &x);
		*v = value_f64(x);
		*out = &v->f;
	} else if (v->tensor->dtype == DT_F64 && v->tensor->contiguous) {
		*out = (const double *)(const void *)v->tensor->data;
	} else {
		Tensor *made = tensor_new(s->c, DT_F64, v->tensor->rank, v->tensor->shape);
		if (!made) {
			nomem(s);
			return -1;
		}
		tensor_convert_into(made, v->tensor);
		tensor_unref(v->tensor);
		v->tensor = made;
		*out = (const double *)(const void *)made->data;
	}
	return finite_or_told(s, r, t, n, *out);
}

int routine_into(Solve *s, Callback *r, uint32_t k, double t, N_Vector out) {
	const double *x;
	bool there;
	if (run_into(s, r, k ? NULL : vector_tensor(out), &there)) return -1;
	int64_t n = vector_tensor(out)->count;
	int flag =
		there ? finite_or_told(s, r, t, n, vector_data(out)) : routine_numbers(s, r, k, n, t, &x);
	if (!flag && !there) memcpy(vector_data(out), x, (size_t)n * sizeof *x);
	routine_drop(r);
	return flag;
}

/* ---- types --------------------------------------------------------------- */

void host_misuse(Builder *b, const char *host, const char *format, ...) {
	char text[200];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(build_ctx(b), E_TYPE, span_of(build_ctx(b), build_span(b)), "%s: %s", host, text);
	ctx_throw(build_ctx(b), ST_ERROR);
}

void want_operand(Builder *b, const char *host, const char *what, Ref r, Dtype d, uint32_t rank) {
	const Type *t = ref_ty(build_fn(b), r);
	if (t->kind != TY_TENSOR || t->dtype != d || t->rank != rank)
		host_misuse(b, host, "%s must be %s%s", what, dtype_name(d),
		            rank == 0   ? " and a single number"
		            : rank == 1 ? "[n], a vector"
		                        : "[m, n], a matrix");
}

uint32_t solution_types(Builder *b, Ref y0, Ref saveat, TypeId *out) {
	Ctx *c = build_ctx(b);
	Dim rows = build_canon(b, ref_ty(build_fn(b), saveat)->dims[0]),
		n = build_canon(b, ref_ty(build_fn(b), y0)->dims[0]);
	int64_t length;
	if (dim_is_const(c, rows, &length) && length == 0)
		rows = build_fresh_dim(b, atom(c, "times"), build_span(b));
	const Dim eight = dim_const(c, 8);
	out[0] = type_tensor(c, DT_F64, 1, &rows);
	out[1] = type_tensor(c, DT_F64, 2, (Dim[]){rows, n});
	out[2] = type_tensor(c, DT_I64, 1, &eight);
	return 3;
}
