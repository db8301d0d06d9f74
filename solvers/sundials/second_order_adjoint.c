/* second_order_adjoint.c - evaluation of "ode_curvature" and "dae_curvature",
 * the gradient of the doubled system.
 *
 * Needs: second_order.h, sensitivity_directions.h.
 *
 * Contract: as in second_order.h. The operands are doubled here; the family's
 * adjoint computes the result.
 */
#include "solvers/sundials/sensitivity_directions.h"
#include "solvers/sundials/second_order.h"
#include <math.h>

/* Operands of the doubled adjoint that differ from the original ones. */
typedef struct Doubled {
	Solve s; /* for reading operands */
	Tensor *y0, *atol, *colptr, *rowind, *w;
	Tensor *yp0, *id; /* of an implicit system */
} Doubled;

static Tensor *vector_of(Ctx *c, Dtype d, int64_t n) { return tensor_new(c, d, 1, &n); }

static double *doubles(Tensor *t) { return (double *)(void *)t->data; }

static int64_t *integers(Tensor *t) { return (int64_t *)(void *)t->data; }

static Status double_pattern(Doubled *d, Ctx *c, const Family *m, int64_t n, const Value *args) {
	const int64_t nnz = value_count(args[m->rowind]), *cp, *ri;
	if (!solve_indices(&d->s, args[m->colptr], "the column pointers", n + 1, &cp))
		return d->s.status;
	if (!solve_indices(&d->s, args[m->rowind], "the row indices", nnz, &ri)) return d->s.status;
	d->colptr = vector_of(c, DT_I64, 2 * n + 1);
	d->rowind = vector_of(c, DT_I64, 2 * nnz);
	if (!d->colptr || !d->rowind) return ST_NOMEM;
	for (int64_t j = 0; j <= n; j++) {
		integers(d->colptr)[j] = cp[j];
		integers(d->colptr)[n + j] = cp[j] + nnz;
	}
	for (int64_t k = 0; k < nnz; k++) {
		integers(d->rowind)[k] = ri[k];
		integers(d->rowind)[nnz + k] = ri[k] + n;
	}
	return ST_OK;
}

static Status double_operands(Doubled *d, Ctx *c, const Family *m, Active u, bool dense,
                              const Value *args, const Value *w, const Value *direction) {
	Solve *s = &d->s;
	const int64_t n = value_count(args[m->y0]), rows = n ? value_count(*w) / n : 0;
	const double *y0, *atol, *dy0 = NULL, *from;
	double rtol, size = 1e-200; /* for a zero direction: s stays 0 */
	if (!solve_numbers(s, args[m->y0], "the initial value", n, &y0) ||
	    !solve_numbers(s, args[m->atol], "atol", n, &atol))
		return s->status;
	if (!solve_number(s, args[m->rtol], "rtol", &rtol) ||
	    !solve_numbers(s, *w, "the cotangents", rows * n, &from))
		return s->status;
	if (u.y0 && !solve_numbers(s, direction[0], "the direction", n, &dy0)) return s->status;
	if (u.y0) size = fmax(size, relative_size_of(s, args[m->y0], direction[0]));
	for (uint32_t k = 0; k < u.ncaptured; k++)
		size =
			fmax(size, relative_size_of(s, args[m->operands + u.captured[k]], direction[u.y0 + k]));
	d->y0 = vector_of(c, DT_F64, 2 * n);
	d->atol = vector_of(c, DT_F64, 2 * n);
	d->w = tensor_zeros(c, DT_F64, 2, (int64_t[]){rows, 2 * n});
	if (s->status != ST_OK || !d->y0 || !d->atol || !d->w) return ST_NOMEM;
	for (int64_t i = 0; i < n; i++) {
		doubles(d->y0)[i] = y0[i];
		doubles(d->y0)[n + i] = dy0 ? dy0[i] : 0;
		doubles(d->atol)[i] = atol[i];
		doubles(d->atol)[n + i] = size * (atol[i] + 1e-3 * rtol * fabs(y0[i]));
		for (int64_t k = 0; k < rows; k++) doubles(d->w)[2 * n * k + n + i] = from[n * k + i];
	}
	if (m->implicit) {
		const double *yp0, *id;
		if (!solve_numbers(s, args[m->yp0], "the initial time derivative", n, &yp0) ||
		    !solve_numbers(s, args[m->id], "the list of differential unknowns", n, &id))
			return s->status;
		d->yp0 = tensor_zeros(c, DT_F64, 1, (int64_t[]){2 * n});
		d->id = vector_of(c, DT_F64, 2 * n);
		if (!d->yp0 || !d->id) return ST_NOMEM;
		memcpy(d->yp0->data, yp0, (size_t)n * sizeof(double));
		for (int64_t i = 0; i < 2 * n; i++) doubles(d->id)[i] = id[i % n];
	}
	return dense ? ST_OK : double_pattern(d, c, m, n, args);
}

/* Keeps the first half of the gradient with respect to (y0, dy0). */
static Status first_half(Ctx *c, Value *v) {
	const int64_t n = v->tensor->count / 2;
	Tensor *half = vector_of(c, DT_F64, n);
	if (half) memcpy(half->data, v->tensor->data, (size_t)n * sizeof(double));
	value_unref(*v);
	*v = half ? value_tensor(half) : (Value){.kind = V_UNSET};
	return half ? ST_OK : ST_NOMEM;
}

Status curvature_eval(Ctx *c, const HostCall *call, uint32_t nargs, const Value *args,
                      uint32_t nresults, Value *results) {
	const Family *m = call->def->ud;
	const Active u = active_of(m, call);
	const HostDef *adjoint = host_find(c, m->adjoint);
	const uint32_t njac = (uint32_t)call->options[2],
				   ncaptured = (uint32_t)call->options[1] - u.ncaptured;
	const uint32_t base = m->operands + ncaptured + njac, n = base + u.ncaptured + 2;
	const Value *direction = args + base + 2;
	const bool dense = call->options[m->linear] == 0;
	const HostCall doubled = {.def = adjoint,
	                          .nfns = call->nfns,
	                          .fns = call->fns,
	                          .noptions = call->noptions,
	                          .options = call->options};
	Doubled d = {0};
	Value *in = heap_alloc(c, n * sizeof *in);
	Status st = in ? solve_begin(&d.s, c) : ST_NOMEM;
	(void)nargs;
	if (st == ST_OK) st = double_operands(&d, c, m, u, dense, args, &args[base + 1], direction);
	if (st == ST_OK) {
		uint32_t at = m->operands + ncaptured;
		memcpy(in, args, at * sizeof *in);
		in[m->y0] = value_tensor(d.y0);
		in[m->atol] = value_tensor(d.atol);
		if (m->implicit) in[m->yp0] = value_tensor(d.yp0);
		if (m->implicit) in[m->id] = value_tensor(d.id);
		if (!dense) in[m->colptr] = value_tensor(d.colptr);
		if (!dense) in[m->rowind] = value_tensor(d.rowind);
		for (uint32_t k = 0; k < u.ncaptured; k++) in[at++] = direction[u.y0 + k];
		for (uint32_t k = 0; k < njac; k++) in[at++] = args[m->operands + ncaptured + k];
		in[at++] = args[base];
		in[at] = value_tensor(d.w);
		st = adjoint->eval(c, &doubled, n, in, nresults, results);
		if (st == ST_OK && u.y0 && (st = first_half(c, &results[0])) != ST_OK)
			for (uint32_t k = 1; k < nresults; k++) value_unref(results[k]);
	}
	tensor_unref(d.y0);
	tensor_unref(d.atol);
	tensor_unref(d.colptr);
	tensor_unref(d.rowind);
	tensor_unref(d.w);
	tensor_unref(d.yp0);
	tensor_unref(d.id);
	if (d.s.c) solve_end(&d.s);
	if (in) heap_free(c, in, n * sizeof *in);
	return st;
}
