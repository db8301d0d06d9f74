/* output_rows.c - the rows of a solution, in whole steps or at output times.
 *
 * Needs: sundials.h.
 *
 * Contract: rows are not changed after they are written, except by
 * rows_join_first. It replaces the rows of the first steps by those of one
 * step, whose polynomial reproduces them to a fraction of the tolerances.
 */
#include "solvers/sundials/modules/sundials.h"
#include <float.h>
#include <math.h>

Status rows_begin(Solve *s, OutputRows *r, int64_t n, const double *at, int64_t nat) {
	*r = (OutputRows){.fixed = at != NULL};
	const int64_t rows = at ? nat : 0;
	r->times = tensor_new(s->c, DT_F64, 1, &rows);
	r->values = tensor_new(s->c, DT_F64, 2, (int64_t[]){rows, n});
	return r->times && r->values ? ST_OK : ST_NOMEM;
}

double *rows_next(Solve *s, OutputRows *r, double t) {
	if (!r->fixed && r->used == r->times->count) {
		r->times = tensor_push_row(s->c, r->times);
		r->values = r->times ? tensor_push_row(s->c, r->values) : r->values;
		if (!r->times || !r->values) return NULL;
	}
	const int64_t k = r->used++;
	((double *)(void *)r->times->data)[k] = t;
	return (double *)(void *)r->values->data + k * r->values->shape[1];
}

void rows_results(const OutputRows *r, Value stats, Value *results) {
	results[0] = value_tensor(tensor_ref(r->times));
	results[1] = value_tensor(tensor_ref(r->values));
	results[2] = stats;
}

void rows_end(OutputRows *r) {
	tensor_unref(r->times);
	tensor_unref(r->values);
	*r = (OutputRows){0};
}

/* ---- merging the first steps --------------------------------------------- */

/* Variable-order integrators start with tiny steps of order 1. Second
 * derivatives of their interpolants are useless: a line has none, and rounding
 * errors are divided by the squared step size. */
enum { FIRST_STEPS = 32, DEGREE_MOST = 16 };
/* Permitted deviation of the merged polynomial in units of the tolerances,
 * which allow 1 per step. */
#define PART 0.5

static const double *times_of(const OutputRows *r) {
	return (const double *)(const void *)r->times->data;
}
static const double *row_of(const OutputRows *r, int64_t k) {
	return (const double *)(const void *)r->values->data + k * r->values->shape[1];
}

/* Interpolation weights at t for the nodes of a step. A step whose nodes are
 * within rounding of each other is interpolated linearly. */
static void weights_at(double t, const double *nodes, uint32_t degree, double *w) {
	const double first = nodes[0], last = nodes[degree];
	const bool line = fabs(last - first) <= 4 * degree * DBL_EPSILON * fabs(last);
	for (uint32_t j = 0; j <= degree; j++) {
		w[j] = line && j && j < degree ? 0 : 1;
		for (uint32_t k = line ? degree : 0; !line && k <= degree; k++)
			if (k != j) w[j] *= (t - nodes[k]) / (nodes[j] - nodes[k]);
	}
	if (line) {
		w[degree] = first == last ? 1 : (t - first) / (last - first);
		w[0] = 1 - w[degree];
	}
}

static double combined(const double *w, const double *values, uint32_t degree, int64_t n,
                       int64_t i) {
	double y = 0;
	for (uint32_t j = 0; j <= degree; j++) y += w[j] * values[j * n + i];
	return y;
}

/* Interpolates the first steps at the nodes of one step of their total length.
 * *fits: whether it reproduces all rows within the tolerances. Polls for
 * interrupts and limits at each row. */
static Status one_for(const Solve *s, const OutputRows *r, int64_t steps, uint32_t degree,
                      double rtol, const double *atol, double *nodes, double *values, bool *fits) {
	const double *t = times_of(r);
	const int64_t n = r->values->shape[1], rows = steps * degree;
	double w[DEGREE_MOST + 1];
	for (uint32_t j = 0; j <= degree; j++) {
		nodes[j] = dense_output_node(t[0], t[rows], j, degree);
		int64_t k = 0;
		while (k < rows - degree && fabs(nodes[j] - t[0]) > fabs(t[k + degree] - t[0])) k += degree;
		weights_at(nodes[j], t + k, degree, w);
		const double *end = row_of(r, j ? rows : 0);
		const bool inside = j > 0 && j < degree;
		for (int64_t i = 0; i < n; i++)
			values[j * n + i] = inside ? combined(w, row_of(r, k), degree, n, i) : end[i];
	}
	*fits = true;
	for (int64_t k = 1; k < rows && *fits; k++) {
		const Status st = ctx_poll(s->c, 0);
		if (st != ST_OK) return st;
		const double *y = row_of(r, k);
		weights_at(t[k], nodes, degree, w);
		for (int64_t i = 0; i < n && *fits; i++) {
			const double off = fabs(combined(w, values, degree, n, i) - y[i]);
			*fits = off <= PART * (rtol * fabs(y[i]) + atol[i]);
		}
	}
	return ST_OK;
}

/* Replaces the first `rows` rows by those at `nodes` with these values. */
static Status replace_first(Solve *s, OutputRows *r, int64_t rows, uint32_t degree,
                            const double *nodes, const double *values) {
	const int64_t n = r->values->shape[1], after = r->used - rows - 1, now = degree + 1 + after;
	Tensor *times = tensor_new(s->c, DT_F64, 1, &now),
		   *all = tensor_new(s->c, DT_F64, 2, (int64_t[]){now, n});
	if (!times || !all) {
		tensor_unref(times);
		tensor_unref(all);
		return ST_NOMEM;
	}
	double *t = (double *)(void *)times->data, *y = (double *)(void *)all->data;
	memcpy(t, nodes, (degree + 1) * sizeof *t);
	memcpy(t + degree + 1, times_of(r) + rows + 1, (size_t)after * sizeof *t);
	memcpy(y, values, (size_t)((degree + 1) * n) * sizeof *y);
	memcpy(y + (degree + 1) * n, row_of(r, rows + 1), (size_t)(after * n) * sizeof *y);
	tensor_unref(r->times);
	tensor_unref(r->values);
	*r = (OutputRows){.times = times, .values = all, .used = now};
	return ST_OK;
}

Status rows_join_first(Solve *s, OutputRows *r, uint32_t degree, double rtol, const double *atol,
                       int64_t until, int64_t *less) {
	*less = 0;
	if (r->fixed || degree < 2 || degree > DEGREE_MOST) return ST_OK;
	int64_t steps = (until < r->used ? until : r->used - 1) / degree;
	if (steps > FIRST_STEPS) steps = FIRST_STEPS;
	const size_t size = (size_t)((degree + 1) * r->values->shape[1]);
	double nodes[DEGREE_MOST + 1],
		*values = steps > 1 ? heap_alloc(s->c, size * sizeof *values) : NULL;
	if (steps > 1 && !values) return ST_NOMEM;
	Status st = ST_OK;
	bool fits = false;
	for (; steps > 1; steps--) {
		st = one_for(s, r, steps, degree, rtol, atol, nodes, values, &fits);
		if (st != ST_OK || fits) break;
	}
	if (st == ST_OK && steps > 1) {
		*less = (steps - 1) * degree;
		st = replace_first(s, r, steps * degree, degree, nodes, values);
	}
	heap_free(s->c, values, size * sizeof *values);
	return st;
}
