/* sensitivity_directions.c - directions, their normalisation, and gradients
 * from them.
 *
 * Method: the error of a sensitivity is measured by rtol and the atol of y.
 * This is appropriate for dy = s dp if dp has the size of p (Maly and Petzold,
 * Appl. Numer. Math. 20, 1996, 57; CVODES calls that size pbar). A direction is
 * therefore divided by the largest ratio of its elements to the sizes of p, and
 * the result multiplied by it. The size of an element is its magnitude, but at
 * least a hundredth of the largest in its array, and 1 in an array of zeros.
 *
 * Needs: sensitivity_directions.h. Contract: as in that header.
 */
#include "solvers/sundials/sensitivity_directions.h"
#include <math.h>

static double as_double(Dtype d, const char *p) {
	double x;
	scalar_convert(d, p, DT_F64, &x);
	return x;
}

static double relative_size(int64_t n, Dtype d, const char *p, const char *dp) {
	const size_t step = dtype_size(d);
	double largest = 0, ratio = 0;
	for (int64_t i = 0; i < n; i++)
		largest = fmax(largest, fabs(as_double(d, p + (size_t)i * step)));
	const double least = largest > 0 ? largest / 100 : 1;
	for (int64_t i = 0; i < n; i++) {
		const double size = fmax(fabs(as_double(d, p + (size_t)i * step)), least);
		ratio = fmax(ratio, fabs(as_double(d, dp + (size_t)i * step)) / size);
	}
	return ratio;
}

/* A contiguous copy, as a tensor even for scalars; NULL when memory fails. */
static Tensor *copy_of(Solve *s, Value v) {
	Tensor *from = value_to_tensor(s->c, v), *t = from ? tensor_copy(s->c, from) : NULL;
	tensor_unref(from);
	return t;
}

Status directions_begin(Directions *d, Solve *s, const IvpInput *in, Active active,
                        const Value *captured, uint32_t ns) {
	*d = (Directions){.s = s, .in = in, .active = active, .captured = captured, .ns = ns};
	const size_t nvalues = (size_t)ns * active.ncaptured;
	d->start = solve_vectors(s, ns, in->n);
	d->scale = heap_alloc(s->c, (ns + 1) * sizeof *d->scale);
	d->values = heap_alloc(s->c, (nvalues + 1) * sizeof *d->values);
	for (size_t i = 0; d->values && i < nvalues; i++) d->values[i] = (Value){.kind = V_UNSET};
	return d->start && d->scale && d->values ? ST_OK : ST_NOMEM;
}

void directions_end(Directions *d) {
	if (!d->s) return;
	const size_t nvalues = (size_t)d->ns * d->active.ncaptured;
	solve_vectors_free(d->s, d->ns, d->start);
	if (d->scale) heap_free(d->s->c, d->scale, (d->ns + 1) * sizeof *d->scale);
	for (size_t i = 0; d->values && i < nvalues; i++) value_unref(d->values[i]);
	if (d->values) heap_free(d->s->c, d->values, (nvalues + 1) * sizeof *d->values);
	*d = (Directions){0};
}

double relative_size_of(Solve *s, Value p, Value dp) {
	Tensor *x = copy_of(s, p), *y = copy_of(s, dp);
	const bool alike = x && y && x->count == y->count && x->dtype == y->dtype;
	const double size = alike ? relative_size(x->count, (Dtype)x->dtype, x->data, y->data) : NAN;
	if (!x || !y) s->status = ST_NOMEM;
	else if (!alike) { /* a call that was read from a file */
		diag_error(s->c, E_SHAPE, NO_SPAN,
		           "the tangent of a captured value has %lld numbers, the value %lld",
		           (long long)y->count, (long long)x->count);
		s->status = ST_ERROR;
	}
	tensor_unref(x);
	tensor_unref(y);
	return size;
}

Status direction_set(Directions *d, uint32_t k, const double *dy0, const Value *dp) {
	double size = 0;
	for (uint32_t i = 0; i < d->active.ncaptured; i++)
		size = fmax(size, relative_size_of(d->s, d->captured[d->active.captured[i]], dp[i]));
	if (d->s->status != ST_OK) return d->s->status;
	if (dy0)
		size =
			fmax(size, relative_size(d->in->n, DT_F64, (const char *)d->in->y0, (const char *)dy0));
	if (!isfinite(size)) size = 1; /* a tangent that is not finite: the solver will report it */
	d->scale[k] = size;
	const double by = size > 0 ? size : 1;
	double *start = vector_data(d->start[k]);
	for (int64_t i = 0; i < d->in->n; i++) start[i] = dy0 ? dy0[i] / by : 0;
	for (uint32_t i = 0; i < d->active.ncaptured; i++) {
		Value *at = &d->values[k * d->active.ncaptured + i];
		Tensor *t = copy_of(d->s, dp[i]);
		if (!t) return ST_NOMEM;
		for (int64_t j = 0; j < t->count; j++) {
			char *p = t->data + (size_t)j * dtype_size((Dtype)t->dtype);
			const double x = as_double((Dtype)t->dtype, p) / by;
			scalar_convert(DT_F64, &x, (Dtype)t->dtype, p);
		}
		value_unref(*at);
		*at = value_from_tensor(t);
	}
	return ST_OK;
}

Status direction_unit(Directions *d, uint32_t k, int64_t index) {
	const uint32_t n = d->active.ncaptured;
	int64_t before = d->active.y0 ? d->in->n : 0;
	N_Vector dy0 = index < before ? solve_vector(d->s, d->in->n) : NULL;
	Value *dp = heap_alloc(d->s->c, (n + 1) * sizeof *dp);
	Status st = dp && (dy0 || index >= before) ? ST_OK : ST_NOMEM;
	uint32_t made = 0;
	if (dy0) vector_data(dy0)[index] = 1;
	for (; made < n && st == ST_OK; made++) {
		Tensor *t = copy_of(d->s, d->captured[d->active.captured[made]]);
		if (!t) {
			st = ST_NOMEM;
			break;
		}
		const double one = 1;
		const size_t size = dtype_size((Dtype)t->dtype);
		memset(t->data, 0, (size_t)t->count * size);
		if (index >= before && index < before + t->count)
			scalar_convert(DT_F64, &one, (Dtype)t->dtype,
			               t->data + (size_t)(index - before) * size);
		before += t->count;
		dp[made] = value_from_tensor(t);
	}
	if (st == ST_OK) st = direction_set(d, k, dy0 ? vector_data(dy0) : NULL, dp);
	for (uint32_t i = 0; i < made; i++) value_unref(dp[i]);
	if (dp) heap_free(d->s->c, dp, (n + 1) * sizeof *dp);
	if (dy0) sundials.N_VDestroy(dy0);
	return st;
}

/* ---- gradients ----------------------------------------------------------- */

int64_t active_count(const IvpInput *in, Active active, const Value *captured) {
	int64_t n = active.y0 ? in->n : 0;
	for (uint32_t i = 0; i < active.ncaptured; i++) n += value_count(captured[active.captured[i]]);
	return n;
}

Status gradient_cut(Solve *s, Active active, Value y0, const Value *captured,
                    const double *gradient, Value *results) {
	for (uint32_t i = 0; i < active.y0 + active.ncaptured; i++) {
		const Value like = active.y0 && i == 0 ? y0 : captured[active.captured[i - active.y0]];
		Tensor *t = copy_of(s, like);
		if (!t) {
			while (i-- > 0) value_unref(results[i]);
			return ST_NOMEM;
		}
		char *p = t->data;
		for (int64_t j = 0; j < t->count; j++, p += dtype_size((Dtype)t->dtype))
			scalar_convert(DT_F64, gradient++, (Dtype)t->dtype, p);
		results[i] = value_from_tensor(t);
	}
	return ST_OK;
}

bool row_is_zero(const double *row, int64_t n) {
	for (int64_t i = 0; i < n; i++)
		if (row[i] != 0) return false;
	return true;
}
