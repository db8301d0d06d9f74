/* time_loop.c - time stepping from t0 to t1, with the rows of the result.
 *
 * Needs: sundials.h.
 *
 * Contract: time_loop_run calls row for each output time in order, inside the
 * last step or at t0. It ends if the integrator fails, no longer advances, or
 * exceeds max_steps.
 */
#include "solvers/sundials/modules/sundials.h"
#include <math.h>

/* Consecutive steps without a change of t that count as a standstill. A blow-up
 * reduces the step below the rounding of t, and CVODES continues with a
 * warning. */
enum { STANDSTILL = 10 };

double dense_output_node(double a, double b, uint32_t j, uint32_t degree) {
	if (j == degree) return b;
	double c = (1 - cos(M_PI * j / degree)) / 2;
	return a + c * (b - a);
}

static Status go(TimeLoop *m, Progress *p) {
	const double sign = m->t1 < m->t0 ? -1 : 1;
	double t = m->t0;
	int64_t k = 0;
	int still = 0;
	Status st = ST_OK;
	if (!m->at) st = m->row(m->ud, k++, t);
	else
		for (; k < m->nat && m->at[k] == t && st == ST_OK; k++) st = m->row(m->ud, k, t);
	for (int64_t steps = 0; st == ST_OK && (m->at ? k < m->nat : t != m->t1); steps++) {
		if (steps >= m->max_steps) return m->fail(m->ud, TIME_LOOP_STEPS, t);
		const double before = t;
		int flag = m->step(m->ud, &t);
		if (flag < 0) return m->fail(m->ud, flag, before);
		p->step = steps + 1;
		p->time = t;
		p->dt = t - before;
		p->has_report = true;
		still = t == before ? still + 1 : 0;
		if (still >= STANDSTILL) return m->fail(m->ud, TIME_LOOP_STUCK, t);
		if (still) continue;
		if (m->at) {
			for (; k < m->nat && sign * (m->at[k] - t) <= 0 && st == ST_OK; k++)
				st = m->row(m->ud, k, m->at[k]);
			continue;
		}
		/* the rows of the step, or of its parts if events cut it */
		for (double a = before; st == ST_OK && a != t;) {
			double b = t;
			bool cut = false, stop = false;
			for (uint32_t j = 1; j <= m->degree && st == ST_OK; j++)
				st = m->row(m->ud, k + j - 1, dense_output_node(a, b, j, m->degree));
			if (st == ST_OK && m->cut) st = m->cut(m->ud, k, a, &b, &cut);
			for (uint32_t j = 1; cut && j <= m->degree && st == ST_OK; j++)
				st = m->row(m->ud, k + j - 1, dense_output_node(a, b, j, m->degree));
			k += m->degree;
			if (st == ST_OK && cut) st = m->noted(m->ud, k - 1, &stop);
			if (stop) return st;
			a = b;
		}
	}
	return st;
}

Status time_loop_run(TimeLoop *m) {
	Progress unasked, *p = ctx_progress_enter(m->c, true);
	if (!p) p = &unasked;
	p->time = p->from = m->t0;
	p->to = m->t1;
	const Status st = go(m, p);
	ctx_progress_leave(m->c, p == &unasked ? NULL : p);
	return st;
}

Status check_times(Ctx *c, double t0, double t1, const double *at, int64_t n) {
	const double sign = t1 < t0 ? -1 : 1;
	for (int64_t i = 0; i < n; i++) {
		const double before = i ? at[i - 1] : t0;
		/* false for NaN too */
		if (sign * (at[i] - before) >= 0 && sign * (at[i] - t1) <= 0) continue;
		diag_error(c, E_VALUE, NO_SPAN,
		           "the times at which the solution is wanted must lie between %g and %g and go "
		           "from the one to the "
		           "other; time %lld is %g",
		           t0, t1, (long long)i, at[i]);
		return ST_ERROR;
	}
	return ST_OK;
}
