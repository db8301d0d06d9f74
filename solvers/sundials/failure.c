/* failure.c - diagnostics of integrator failures.
 *
 * Needs: sundials.h.
 *
 * Contract: one diagnostic reports the time, the unknown at fault if it is
 * known, and a hint. The caller of the solver adds the source location.
 */
#include "solvers/sundials/modules/sundials.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static double magnitude(const double *e, const double *w, int64_t i) {
	double x = fabs(e[i] * w[i]);
	return isnan(x) ? INFINITY : x;
}

static const char *unknown(const Solve *s, int64_t i, char *out, size_t cap) {
	if (name_of(s->names, i, out, cap)) return out;
	snprintf(out, cap, "y[%lld]", (long long)i);
	return out;
}

/* The last good values of the first unknowns: "y = (1, 2, ...)". */
static void describe_state(const Solve *s, const FailureState *at, char *out, size_t cap) {
	enum { MOST = 4 };
	*out = 0;
	if (!at->y) return;
	const int64_t n = vector_tensor(at->y)->count;
	size_t used = 0;
	for (int64_t i = 0; i < n && i < MOST && used < cap; i++) {
		char name[80];
		used += (size_t)snprintf(out + used, cap - used, "%s%s = %.6g", i ? ", " : "",
		                         unknown(s, i, name, sizeof name), vector_data(at->y)[i]);
	}
	if (n > MOST && used < cap) snprintf(out + used, cap - used, ", ...");
}

/* "; the last value of y[2] is 3, and its error estimate 4 times what is
 * allowed" */
static void describe_worst(const Solve *s, const FailureState *at, char *out, size_t cap) {
	*out = 0;
	if (!at->y || !at->errors || !at->weights) return;
	const double *e = vector_data(at->errors), *w = vector_data(at->weights);
	const int64_t n = vector_tensor(at->y)->count;
	int64_t worst = 0;
	for (int64_t i = 1; i < n; i++)
		if (magnitude(e, w, i) > magnitude(e, w, worst)) worst = i;
	char name[80];
	snprintf(out, cap,
	         "; the last value of %s is %.6g, and its error estimate %.2g times what is allowed",
	         unknown(s, worst, name, sizeof name), vector_data(at->y)[worst],
	         magnitude(e, w, worst));
}

/* A warning if the rows so far are the result, else an error. */
static Diag *told(Solve *s, DiagCode code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static Diag *told(Solve *s, DiagCode code, const char *format, ...) {
	char text[600];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	s->failed = true;
	return s->partial ? diag_warning(s->c, code, NO_SPAN, "%s", text)
	                  : diag_error(s->c, code, NO_SPAN, "%s", text);
}

static Status not_finite(Solve *s, const IvpInput *in, const FailureState *at) {
	const char *what = at->what ? at->what : "solution";
	char element[120], name[80], state[400];
	const bool known = s->bad_of && name_of(s->bad_of == 'y' ? s->names : s->equations, s->bad_at,
	                                        name, sizeof name);
	if (known && s->bad_of == 'y') snprintf(element, sizeof element, "the rate of %s", name);
	else if (known) snprintf(element, sizeof element, "of `%s`", name);
	else snprintf(element, sizeof element, "element %lld", (long long)s->bad_at);
	describe_state(s, at, state, sizeof state);
	if (s->bad_of == 'g') {
		Diag *d = told(
			s, E_SOLVER,
			"no %s beyond t = %.9g: the expression of event %lld is not finite at t = %.9g%s%s",
			what, at->t, (long long)s->bad_at, s->bad_time, *state ? "; the last values are " : "",
			state);
		diag_hint(s->c, d,
		          "an event must have a value wherever the integrator looks, behind its zero, too");
		return ST_ERROR;
	}
	Diag *d =
		told(s, E_SOLVER,
	         "no %s beyond t = %.9g: %s is not finite at t = %.9g (%s), whatever the step%s%s",
	         what, at->t, s->bad ? s->bad : "the right-hand side", s->bad_time, element,
	         *state ? "; the last values are " : "", state);
	if (at->t == in->t0)
		diag_hint(s->c, d,
		          "a division by zero, or a root or logarithm of a negative number? nan_check(f, "
		          "t, y; inf = true) at the initial value names it");
	else
		diag_hint(
			s->c, d,
			"the solution may leave the domain of the equations there, or grow without bound");
	return ST_ERROR;
}

Status solve_report_failure(Solve *s, const IvpInput *in, FailureReason why,
                            const FailureState *at) {
	char text[320] = "", worst[240], nan[120] = "";
	const char *hint = NULL, *what = at->what ? at->what : "solution";
	DiagCode code = E_SOLVER_STEP;
	describe_worst(s, at, worst, sizeof worst);
	if (s->bad) snprintf(nan, sizeof nan, "; %s was not finite at t = %.9g", s->bad, s->bad_time);
	switch (why) {
	case FAILED_NOT_FINITE: return not_finite(s, in, at);
	case FAILED_STUCK:
		/* steps that shrink because a function is undefined further on also end
		 * here */
		if (s->bad && fabs(s->bad_time - at->t) <= 1e-8 * fabs(at->t - in->t0))
			return not_finite(s, in, at);
		snprintf(text, sizeof text, "the step became too small to change t");
		hint = "the solution seems to grow without bound there: stop before it, or say what "
			   "happens there";
		break;
	case FAILED_STEPS:
		code = E_SOLVER_STEPS;
		snprintf(text, sizeof text,
		         "%lld steps are used up on the way to t = %.9g; the last was %.3g long",
		         (long long)in->max_steps, in->t1, at->step);
		if (fabs(at->step) <= 1e-7 * fabs(in->t1 - in->t0)) {
			hint = "such short steps mostly say that the right-hand side jumps there, back and "
				   "forth: make the place of the jump an event, or smooth it";
			break;
		}
		hint = at->explicit_method ? "a stiff method (bdf) may need far fewer; or allow more with "
		                             "max_steps, or loosen rtol and atol"
		                           : "allow more with max_steps, or loosen rtol and atol";
		break;
	case FAILED_ERROR_TEST:
		snprintf(text, sizeof text,
		         "the step became too small (%.3g) and its error is still too large", at->step);
		hint = "the solution may jump or grow without bound there; otherwise loosen rtol and atol";
		break;
	case FAILED_CONVERGENCE:
		snprintf(text, sizeof text,
		         "the step became too small (%.3g) and its equations still cannot be solved",
		         at->step);
		hint = "the equations may jump there, or no longer determine an unknown that has no time "
			   "derivative; tighter rtol and atol can help too";
		break;
	case FAILED_ACCURACY:
		code = E_SOLVER;
		snprintf(text, sizeof text,
		         "rtol and atol ask for more than 64-bit numbers can hold, by a factor of %.3g",
		         at->factor);
		hint = "loosen rtol and atol";
		*worst = 0;
		break;
	case FAILED_LINEAR:
		code = E_SOLVER;
		snprintf(text, sizeof text, "the linear system of a step cannot be factorised");
		hint = "check the Jacobian and its sparsity pattern";
		break;
	case FAILED_TOO_CLOSE:
		diag_error(s->c, E_VALUE, NO_SPAN,
		           "the times %.17g and %.17g are too close to make a step between them", in->t0,
		           in->t1);
		return ST_ERROR;
	case FAILED_START: {
		char name[200], which[240];
		if (name_of(s->equations, at->equation, name, sizeof name))
			snprintf(which, sizeof which, "`%s`", name);
		else snprintf(which, sizeof which, "equation %lld", (long long)at->equation);
		s->failed = true;
		Diag *d = diag_error(s->c, E_SOLVER_INIT, NO_SPAN,
		                     "no consistent initial values at t = %.9g near the ones given, with "
		                     "which %s is off by %.3g%s",
		                     at->t, which, at->off, nan);
		diag_hint(s->c, d,
		          "give better initial values; and every unknown without a time derivative must "
		          "occur in the equations "
		          "so that they determine it (index 1)");
		return ST_ERROR;
	}
	default:
		code = why == FAILED_INPUT ? E_VALUE : E_SOLVER;
		snprintf(text, sizeof text, "%s", s->said[0] ? s->said : "the integrator failed");
		*worst = 0;
	}
	Diag *d = told(s, code, "no %s beyond t = %.9g: %s%s%s", what, at->t, text, worst, nan);
	if (hint) diag_hint(s->c, d, "%s", hint);
	return ST_ERROR;
}
