/* events.c - event location on the dense output of each step.
 *
 * Needs: events.h. Contract: as in events.h.
 */
#include "solvers/sundials/events.h"
#include <float.h>
#include <math.h>

static size_t scratch_size(uint32_t m) {
	return (m + 1) * (5 * sizeof(double) + 4 * sizeof(int) + sizeof(bool));
}

HostCall events_plain_call(const HostCall *call, uint32_t nfns, uint32_t noptions, int64_t *words) {
	/* options begin with the number of functions and their capture counts: one
	 * function fewer than in `call` */
	words[0] = nfns;
	for (uint32_t k = 0; k < nfns; k++) words[1 + k] = call->options[1 + k];
	for (uint32_t k = 1 + nfns; k < noptions; k++) words[k] = call->options[k + 1];
	HostCall plain = *call;
	plain.nfns = nfns;
	plain.noptions = noptions;
	plain.options = words;
	return plain;
}

Value *events_plain_operands(Ctx *c, const Value *args, uint32_t noperands, uint32_t nplain) {
	Value *operands = heap_alloc(c, nplain * sizeof *operands);
	if (!operands) return NULL;
	memcpy(operands, args, noperands * sizeof *operands);
	memcpy(operands + noperands, args + noperands + 1, (nplain - noperands) * sizeof *operands);
	return operands;
}

void events_results(const Events *e, Value *results) {
	results[3] = value_tensor(tensor_ref(e->row));
	results[4] = value_tensor(tensor_ref(e->which));
}

Status events_begin(Events *e, Solve *s, Fn *g, const int64_t *options, Value signs,
                    uint32_t ncaptured, const Value *captured) {
	const uint32_t m = (uint32_t)options[EVENTS_COUNT];
	const int64_t *sign;
	*e = (Events){.s = s, .m = m, .partial = options[EVENTS_PARTIAL] != 0};
	Status st = routine_begin(s, &e->g, g, "the expression of an event", ncaptured, captured);
	if (st != ST_OK) return st;
	e->g.of = 'g';
	if (!solve_indices(s, signs, "the signs of the events", m, &sign)) return s->status;
	e->value = heap_alloc(s->c, scratch_size(m));
	const int64_t none = 0;
	e->row = tensor_new(s->c, DT_I64, 1, &none);
	e->which = tensor_new(s->c, DT_I64, 1, &none);
	if (!e->value || !e->row || !e->which) return ST_NOMEM;
	e->root = e->value + m;
	e->left = e->root + m;
	e->middle = e->left + m;
	e->right = e->middle + m;
	e->direction = (int *)(void *)(e->right + m);
	e->sign = e->direction + m;
	e->crossed = e->sign + m;
	e->zeros = e->crossed + m;
	e->stops = (bool *)(e->zeros + m);
	for (uint32_t k = 0; k < m; k++) {
		e->direction[k] = (int)options[EVENTS_WORDS + k];
		e->stops[k] = options[EVENTS_WORDS + m + k] != 0;
		e->sign[k] = (int)sign[k];
		e->zeros[k] = SINCE_BEGIN;
	}
	return ST_OK;
}

void events_end(Events *e) {
	if (!e->s) return;
	routine_end(e->s, &e->g);
	if (e->value) heap_free(e->s->c, e->value, scratch_size(e->m));
	tensor_unref(e->row);
	tensor_unref(e->which);
	*e = (Events){0};
}

/* ---- search -------------------------------------------------------------- */

/* Evaluates g at (t, e->y) into e->value. */
static int values_at(Events *e, double t) {
	Value *args = e->g.args + e->g.ncaptured;
	const double *x;
	args[0] = value_f64(t);
	args[1] = value_tensor(vector_tensor(e->y));
	if (routine_run(e->s, &e->g)) return -1;
	int flag = routine_numbers(e->s, &e->g, 0, e->m, t, &x);
	if (!flag) memcpy(e->value, x, e->m * sizeof *x);
	routine_drop(&e->g);
	return flag;
}

static int values_inside(Events *e, double t) {
	int flag = e->state(e->ud, t, e->y);
	return flag ? flag : values_at(e, t);
}

static int sign_of(double x) { return (x > 0) - (x < 0); }

/* Locates the point between a and b where g[k] loses its sign, which it has at
 * a. Method: bisection with inverse quadratic interpolation (Chandrupatla, Adv.
 * Eng. Software 28, 1997, 145). *at: the later end of the last bracket, at or
 * after the zero. */
static int locate(Events *e, uint32_t k, double a, double b, double *at) {
	const int before = e->sign[k];
	int flag = values_inside(e, b);
	double fb = e->value[k], fa = 0, c = b, fc = fb;
	if (flag) return flag;
	/* g may be zero at `a` itself, after an event there; search towards `a` for
	 * a point where g has its sign */
	double lo = a;
	for (int i = 0; i < 60; i++) {
		flag = values_inside(e, lo);
		if (flag) return flag;
		fa = e->value[k];
		if (sign_of(fa) == before) break;
		if (i > 0) { /* already after the zero */
			b = lo;
			fb = fa;
		}
		lo = a + (i > 0 ? 0.25 * (lo - a) : 0.5 * (b - a));
		if (lo == a) break;
	}
	if (sign_of(fa) != before) {
		*at = b;
		return 0;
	}
	a = lo;
	double t = 0.5;
	for (int i = 0; i < 200; i++) {
		const double width = fabs(b - a), least = 2 * DBL_EPSILON * fmax(fabs(a), fabs(b));
		if (width <= least) break;
		const double x = a + t * (b - a);
		if (x == a || x == b) break;
		flag = values_inside(e, x);
		if (flag) return flag;
		const double fx = e->value[k];
		if (sign_of(fx) == before) {
			c = a;
			fc = fa;
			a = x;
			fa = fx;
		} else {
			c = b;
			fc = fb;
			b = x;
			fb = fx;
		}
		/* interpolate from the newest point, the other end and the replaced
		 * one */
		const bool left = a == x;
		const double p = left ? a : b, q = left ? b : a, fp = left ? fa : fb, fq = left ? fb : fa;
		const double xi = (p - q) / (c - q), phi = (fp - fq) / (fc - fq);
		double u = 0.5;
		if (phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)
			u = fp / (fq - fp) * fc / (fq - fc) +
			    (c - p) / (q - p) * fp / (fc - fp) * fq / (fc - fq);
		const double edge = fmin(0.5, 0.5 * least / fabs(b - a));
		u = fmin(1 - edge, fmax(edge, u));
		t = left ? u : 1 - u;
	}
	*at = b;
	return 0;
}

/* Locates the functions that changed sign between two nodes. The earliest event
 * counts, and all within rounding of it. */
static int first_between(Events *e, double a, double b, bool *found, double *at) {
	int flag = 0;
	double first = b;
	const double sense = b > a ? 1 : -1;
	for (uint32_t k = 0; k < e->m && !flag; k++) {
		if (!e->crossed[k]) continue;
		flag = locate(e, k, a, b, &e->root[k]);
		if (!flag && sense * (e->root[k] - first) < 0) first = e->root[k];
	}
	const double near = 16 * DBL_EPSILON * (fabs(first) + fabs(b - a));
	for (uint32_t k = 0; k < e->m && !flag; k++) {
		if (!e->crossed[k]) continue;
		if (sense * (e->root[k] - first) > near) e->crossed[k] = 0;
		else if (sense * (e->root[k] - *at) > 0 || !*found) {
			*at = e->root[k]; /* the last of them, at or after all zeros */
			*found = true;
		}
	}
	return flag;
}

/* Searches for an event that counts between `from` and t, where e->value is
 * g(t). */
static int look_at(Events *e, double from, double t, bool *found, double *at) {
	bool any = false;
	for (uint32_t k = 0; k < e->m; k++) {
		const int now = sign_of(e->value[k]), before = e->sign[k];
		e->crossed[k] = 0;
		/* after its event, a g that stays zero or then leaves zero has no other
		 * event */
		if (e->zeros[k] && !now) continue;
		const bool leaves = e->zeros[k] == SINCE_EVENT;
		e->zeros[k] = 0;
		if (!before || leaves) {
			e->sign[k] = now;
		} else if (now != before) {
			const bool counts = !e->direction[k] || e->direction[k] == -before;
			if (counts) e->crossed[k] = any = true;
			else e->sign[k] = now ? now : -before;
		}
	}
	return any ? first_between(e, from, t, found, at) : 0;
}

/* Whether g[k] has the same sign at three nodes and may change it between them:
 * its middle value is closer to 0 than its changes on both sides. A zero left
 * by an event does not count. */
static bool may_dip(const Events *e, uint32_t k) {
	const double a = e->left[k], b = e->middle[k], c = e->right[k], x = fabs(b);
	if (e->zeros[k] || a * b <= 0 || b * c <= 0 || sign_of(b) != e->sign[k]) return false;
	if (x <= 1e-10 * fmax(fabs(a), fabs(c))) return false;
	return x <= fabs(a) && x <= fabs(c) && x < fabs(a - b) + fabs(c - b);
}

/* Searches between lo and hi for a point where g[k] lacks the sign `side`, by
 * golden-section search. *at: the point, or lo if there is none. */
static int find_dip(Events *e, uint32_t k, int side, double lo, double hi, double *at) {
	const double part = 0.6180339887498949, none = lo;
	const double least = -1e-10 * fmax(fabs(e->left[k]), fabs(e->right[k]));
	double x[2] = {hi - part * (hi - lo), lo + part * (hi - lo)}, v[2];
	for (int i = 0; i < 2; i++) {
		int flag = values_inside(e, x[i]);
		if (flag) return flag;
		v[i] = side * e->value[k];
	}
	for (int turn = 0; turn < 60 && fmin(v[0], v[1]) > least; turn++) {
		const int moved = v[0] <= v[1] ? 0 : 1;
		if (moved) lo = x[0];
		else hi = x[1];
		x[1 - moved] = x[moved];
		v[1 - moved] = v[moved];
		x[moved] = moved ? lo + part * (hi - lo) : hi - part * (hi - lo);
		int flag = values_inside(e, x[moved]);
		if (flag) return flag;
		v[moved] = side * e->value[k];
	}
	*at = v[0] <= least ? x[0] : v[1] <= least ? x[1] : none;
	return 0;
}

/* Searches for two sign changes between the nodes lo, mid and hi, where g is
 * left, middle and right. */
static int look_between(Events *e, double lo, double mid, double hi, bool *found, double *at) {
	for (uint32_t k = 0; k < e->m && !*found; k++) {
		double p = lo;
		int flag = may_dip(e, k) ? find_dip(e, k, e->sign[k], lo, hi, &p) : 0;
		if (flag) return flag;
		if (p == lo) continue;
		const bool later = (p - mid) * (hi - lo) > 0;
		if ((flag = values_inside(e, p))) return flag;
		if ((flag = look_at(e, later ? mid : lo, p, found, at)) || *found) return flag;
		/* it does not count; the sign at the next node is the previous one */
		memcpy(e->value, later ? e->right : e->middle, e->m * sizeof *e->value);
		if ((flag = look_at(e, p, later ? hi : mid, found, at)) || *found) return flag;
	}
	return 0;
}

/* Handles a g that crosses zero at an event at a and returns before the first
 * node t: it has another event there. */
static int look_behind(Events *e, double a, double t) {
	for (uint32_t k = 0; k < e->m; k++) {
		double p = a;
		if (e->zeros[k] != SINCE_EVENT || sign_of(e->right[k]) != -e->sign[k]) continue;
		int flag = find_dip(e, k, -e->sign[k], a, t, &p);
		if (flag) return flag;
		if (p != a) e->zeros[k] = 0;
	}
	return 0;
}

int events_look(Events *e, double a, uint32_t rows, const double *times, const double *values,
                bool *found, double *at) {
	const int64_t n = vector_tensor(e->y)->count;
	const size_t size = e->m * sizeof *e->value;
	double lo = a, mid = a;
	*found = false;
	int flag = values_inside(e, a);
	memcpy(e->left, e->value, size);
	memcpy(e->middle, e->value, size);
	for (uint32_t j = 0; j < rows && !flag && !*found; j++) {
		memcpy(vector_data(e->y), values + j * n, (size_t)n * sizeof *values);
		flag = values_at(e, times[j]);
		memcpy(e->right, e->value, size);
		if (!flag && !j) flag = look_behind(e, a, times[j]);
		if (!flag) flag = look_between(e, lo, mid, times[j], found, at);
		memcpy(e->value, e->right, size);
		if (!flag && !*found) flag = look_at(e, mid, times[j], found, at);
		memcpy(e->left, e->middle, size);
		memcpy(e->middle, e->right, size);
		lo = mid;
		mid = times[j];
	}
	/* an extremum between the last two nodes; the next step no longer has these
	 * nodes */
	if (!flag && !*found && lo != mid) flag = look_between(e, lo, mid, mid, found, at);
	return flag;
}

/* ---- recording ----------------------------------------------------------- */

static Tensor *pushed(Ctx *c, Tensor *t, int64_t x) {
	t = tensor_push_row(c, t);
	if (t) ((int64_t *)(void *)t->data)[t->count - 1] = x;
	return t;
}

Status events_record(Events *e, int64_t row) {
	for (uint32_t k = 0; k < e->m; k++) {
		if (!e->crossed[k]) continue;
		e->sign[k] = -e->sign[k];
		e->zeros[k] = SINCE_EVENT;
		e->row = pushed(e->s->c, e->row, row);
		e->which = e->row ? pushed(e->s->c, e->which, k) : e->which;
		if (!e->row || !e->which) return ST_NOMEM;
		e->stopped |= e->stops[k];
	}
	return ST_OK;
}

int64_t events_first(const Events *e, int64_t none) {
	return e->row->count ? ((const int64_t *)(const void *)e->row->data)[0] : none;
}

void events_move(Events *e, int64_t less) {
	int64_t *row = (int64_t *)(void *)e->row->data;
	for (int64_t k = 0; k < e->row->count; k++) row[k] -= less;
}

uint32_t event_types(Builder *b, Ref y0, Ref saveat, TypeId *out) {
	Ctx *c = build_ctx(b);
	uint32_t n = solution_types(b, y0, saveat, out);
	const Dim nine = dim_const(c, 9), events = build_fresh_dim(b, atom(c, "events"), build_span(b));
	out[n - 1] = type_tensor(c, DT_I64, 1, &nine);
	out[n] = out[n + 1] = type_tensor(c, DT_I64, 1, &events);
	return n + 2;
}

void events_jvp(Builder *b, const HostCall *call, uint32_t nargs, const Ref *args,
                const Ref *results, const Ref *tangents, Ref *result_tangents) {
	(void)b;
	(void)call;
	(void)nargs;
	(void)args;
	(void)results;
	(void)tangents;
	for (int k = 0; k < 5; k++) result_tangents[k] = REF_NONE;
}
