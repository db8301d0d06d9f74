/* well_posed.c - well-posedness of a problem: its type from the principal
 * symbol, and the consistency of its conditions.
 *
 * Needs: residual_values.h.
 *
 * Method: with u ~ exp(mu t + i xi x), the terms of highest order of M d^q
 * u/dt^q + S(d/dx) u = 0, of order p in space, give mu^q = -i^p * eigenvalue of
 * M^-1 S(xi). Hadamard's condition is that Re mu is bounded (Kreiss and Lorenz,
 * Initial-Boundary Value Problems and the Navier-Stokes Equations, 1989, ch.
 * 2).
 *
 * Contract:
 * - An error is reported if no solution depends continuously on the data,
 *   whatever the solution is. The highest coefficients of the residuals are
 *   evaluated at several points, with several values of everything they depend
 *   on, and all must agree.
 * - Anything that the author may intend is a warning.
 * - A problem that cannot be evaluated (a parameter with respect to which a
 *   derivative is taken) is not judged.
 */
#include "parser/problem/residual_values.h"

#include <math.h>

static const char *coordinates_text(const ProblemResiduals *s, bool space) {
	const Layout *l = s->l;
	const char *text = "";
	const uint32_t n = space ? l->nspace : l->ncoords;
	for (uint32_t i = 0; i < n; i++) {
		const char *name = atom_text(s->sp->c, l->coord[space ? l->space[i] : i].name);
		text =
			i == 0 ? name : arena_printf(s->sp->a, i + 1 < n ? "%s, %s" : "%s and %s", text, name);
	}
	return text;
}

static uint32_t jet_order(const Layout *l, const JetVariable *j, bool space) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->ncoords; i++)
		if (!space || !coord_is_time(l, i)) n += j->order[i];
	return n;
}

static uint32_t time_order(const Layout *l, const JetVariable *j) {
	return l->time < 0 ? 0 : j->order[l->time];
}

/* Warns only once, because a problem is checked whenever it is solved. */
static Diag *warn_once(const ProblemResiduals *s, DiagCode code, Span at, const char *message) {
	for (uint32_t i = 0; i < diag_total(s->sp->c); i++) {
		const Diag *d = diag_at(s->sp->c, i);
		if (d->code == code && d->span.source == at.source && d->span.start == at.start)
			return NULL;
	}
	return diag_warning(s->sp->c, code, at, "%s", message);
}

/* ---- unknowns against equations, by component ---------------------------- */

void statement_counts(const ProblemResiduals *s) {
	const Ast *e = s->l->e;
	uint32_t unknowns = 0, equations = 0;
	for (uint32_t f = 0; f < fields_with_equation(e); f++) unknowns += statement_parts(s, f);
	const Residual *vector = NULL;
	for (uint32_t i = 0; i < s->residuals.n; i++) {
		const Residual *r = &s->residuals.at[i];
		if (r->at) continue;
		equations += residual_rows(r);
		if (r->rows && !vector) vector = r;
	}
	if (unknowns == equations) return;
	Diag *d = diag_error(s->sp->c, E_PROBLEM_COUNT, e->problem->name_span,
	                     "%u unknown component%s and %u scalar equation%s in `%s`", unknowns,
	                     unknowns == 1 ? "" : "s", equations, equations == 1 ? "" : "s",
	                     atom_text(s->sp->c, e->problem->name));
	if (vector) diag_second(s->sp->c, d, vector->q->span, "this counts for %u", vector->rows);
}

/* ---- the principal symbol ------------------------------------------------ */

/* The terms of highest order of all equations at one point. Rows are equations,
 * columns are components of the unknowns. */
typedef struct PrincipalSymbol {
	/* n: unknowns. q: order in t, the same for all or 0. p: highest order in
	 * space of terms without t. */
	uint32_t n, q, p;
	double m[MAX_SYSTEM * MAX_SYSTEM]; /* of the q-th derivatives with respect to t */
	struct Term {
		JetVariable jet;
		double c[MAX_SYSTEM * MAX_SYSTEM];
	} * terms;
	uint32_t nterms;
} PrincipalSymbol;

static uint32_t first_part(const ProblemResiduals *s, uint32_t field) {
	uint32_t n = 0;
	for (uint32_t f = 0; f < field; f++) n += statement_parts(s, f);
	return n;
}

/* The orders of the jets in the equations inside. Returns false when the
 * unknowns differ in their order in t, or are too many. */
static bool orders_of(const ProblemResiduals *s, PrincipalSymbol *y) {
	const Layout *l = s->l;
	const uint32_t nf = fields_with_equation(l->e);
	y->n = first_part(s, nf);
	y->q = y->p = 0;
	if (y->n > MAX_SYSTEM || !y->n) return false;
	for (uint32_t f = 0; f < nf; f++) {
		uint32_t q = 0;
		for (uint32_t j = 0; j < l->njets; j++)
			for (uint32_t i = 0; i < s->residuals.n; i++) {
				const Residual *r = &s->residuals.at[i];
				if (r->at || !r->mentions[j] || l->jets[j].field != f) continue;
				if (time_order(l, &l->jets[j]) > q) q = time_order(l, &l->jets[j]);
				if (!time_order(l, &l->jets[j]) && jet_order(l, &l->jets[j], true) > y->p)
					y->p = jet_order(l, &l->jets[j], true);
			}
		if (f && q != y->q) return false;
		y->q = q;
	}
	return true;
}

/* Coefficients at the k-th sample. Returns false when they cannot be evaluated,
 * or when the problem is not linear in its terms of highest order. */
static bool symbol_at(const ProblemResiduals *s, PrincipalSymbol *y, uint32_t k, bool rest) {
	const Layout *l = s->l;
	double coords[MAX_COORDS], *jets = ARENA_ARRAY(s->sp->a, double, s->total + 1),
							   *slope = ARENA_ARRAY(s->sp->a, double, MAX_SYSTEM * 2 + s->total);
	sample_of(s, k, rest, coords, jets);
	y->terms = ARENA_ARRAY(s->sp->a, struct Term, l->njets + 1);
	y->nterms = 0;
	memset(y->m, 0, sizeof y->m);
	for (uint32_t j = 0; j < l->njets; j++) {
		const JetVariable *jet = &l->jets[j];
		const uint32_t t = time_order(l, jet), x = jet_order(l, jet, true);
		if (jet->field >= fields_with_equation(l->e)) continue;
		const bool rate = y->q && t == y->q && x == 0;
		if (!rate && (t || x != y->p)) continue;
		struct Term *term = &y->terms[y->nterms];
		term->jet = *jet;
		memset(term->c, 0, sizeof term->c);
		bool any = false;
		for (uint32_t i = 0, row = 0; i < s->residuals.n; i++) {
			const Residual *r = &s->residuals.at[i];
			if (r->at) continue;
			const uint32_t rows = residual_rows(r);
			if (row + rows > y->n) return false;
			for (uint32_t part = 0; r->mentions[j] && part < statement_parts(s, jet->field);
			     part++) {
				if (!residual_slope(s, r, coords, jets, s->offset[j] + part, false, slope))
					return false;
				for (uint32_t a = 0; a < rows; a++) {
					term->c[(row + a) * y->n + first_part(s, jet->field) + part] = slope[a];
					any |= slope[a] != 0;
				}
			}
			row += rows;
		}
		if (rate)
			for (uint32_t i = 0; i < y->n * y->n; i++) y->m[i] += term->c[i];
		else if (any) y->nterms++;
	}
	return true;
}

/* True when the terms of highest order do not depend on the solution: they are
 * the same with all jets zero. */
static bool state_free(const ProblemResiduals *s, const PrincipalSymbol *of) {
	PrincipalSymbol a = *of, b = *of;
	for (uint32_t k = 0; k < 2; k++) {
		if (!symbol_at(s, &a, k, false) || !symbol_at(s, &b, k, true) || a.nterms != b.nterms)
			return false;
		for (uint32_t i = 0; i < a.n * a.n; i++)
			if (fabs(a.m[i] - b.m[i]) > 1e-9 * (1 + fabs(a.m[i]))) return false;
		for (uint32_t t = 0; t < a.nterms; t++)
			for (uint32_t i = 0; i < a.n * a.n; i++)
				if (fabs(a.terms[t].c[i] - b.terms[t].c[i]) > 1e-9 * (1 + fabs(a.terms[t].c[i])))
					return false;
	}
	return true;
}

/* True when every unknown has an initial value that can be evaluated. */
static bool starts_known(const ProblemResiduals *s) {
	double coords[MAX_COORDS], *jets = ARENA_ARRAY(s->sp->a, double, s->total + 1), out[64];
	uint32_t known = 0;
	if (first_part(s, s->l->e->problem->nfields) > 64) return false;
	sample_of(s, 0, true, coords, jets);
	for (uint32_t f = 0; f < fields_with_equation(s->l->e); f++) {
		bool found = false;
		for (uint32_t i = 0; i < s->residuals.n; i++) {
			const Residual *r = &s->residuals.at[i];
			uint32_t of;
			found |= r->at && r->boundary.coord == s->l->time &&
			         value_given(s, r, coords, &of, out) && of == f;
		}
		known += found;
	}
	return known == fields_with_equation(s->l->e);
}

/* Replaces A by M^-1 A, for n by n matrices. Returns false when M is
 * singular. */
static bool solve_left(uint32_t n, const double *m, double *a) {
	double w[MAX_SYSTEM * MAX_SYSTEM];
	memcpy(w, m, n * n * sizeof *w);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t best = k;
		for (uint32_t i = k; i < n; i++)
			if (fabs(w[i * n + k]) > fabs(w[best * n + k])) best = i;
		if (fabs(w[best * n + k]) < 1e-12) return false;
		for (uint32_t j = 0; j < n; j++) {
			const double x = w[k * n + j], y = a[k * n + j];
			w[k * n + j] = w[best * n + j], a[k * n + j] = a[best * n + j];
			w[best * n + j] = x, a[best * n + j] = y;
		}
		for (uint32_t i = 0; i < n; i++) {
			if (i == k) continue;
			const double f = w[i * n + k] / w[k * n + k];
			for (uint32_t j = 0; j < n; j++)
				w[i * n + j] -= f * w[k * n + j], a[i * n + j] -= f * a[k * n + j];
		}
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++) a[i * n + j] /= w[i * n + i];
	return true;
}

/* S(xi): the terms without t times powers of a direction in space. */
static void along(const ProblemResiduals *s, const PrincipalSymbol *y, const double *xi,
                  double *out) {
	memset(out, 0, y->n * y->n * sizeof *out);
	for (uint32_t t = 0; t < y->nterms; t++) {
		double power = 1;
		for (uint32_t i = 0; i < s->l->nspace; i++)
			for (uint32_t k = 0; k < y->terms[t].jet.order[s->l->space[i]]; k++) power *= xi[i];
		for (uint32_t i = 0; i < y->n * y->n; i++) out[i] += power * y->terms[t].c[i];
	}
}

/* The k-th of several directions in space. Returns false when there are no
 * more. */
static bool direction(uint32_t dims, uint32_t k, double *xi) {
	if (dims == 1) {
		xi[0] = 1;
		return k < 1;
	}
	if (k < dims) {
		for (uint32_t i = 0; i < dims; i++) xi[i] = i == k;
		return true;
	}
	double sum = 0;
	for (uint32_t i = 0; i < dims; i++) {
		xi[i] = sin(1 + 3.7 * k * (i + 1) + 2.1 * i);
		sum += xi[i] * xi[i];
	}
	for (uint32_t i = 0; i < dims; i++) xi[i] /= sqrt(sum);
	return k < dims + 12;
}

/* The location of mu^q over all directions: the largest and least real part and
 * the largest imaginary part, relative to the largest eigenvalue. */
typedef struct Growth {
	double most, least, imaginary, scale;
	bool known, oscillates; /* mu is i times these values: an odd order, q = 1 */
} Growth;

static Growth growth_of(const ProblemResiduals *s, const PrincipalSymbol *y) {
	Growth g = {.most = -INFINITY, .least = INFINITY, .known = true};
	double xi[MAX_COORDS], a[MAX_SYSTEM * MAX_SYSTEM], re[MAX_SYSTEM], im[MAX_SYSTEM], size = 0;
	const uint32_t turn = y->p % 4; /* -i^p = -1, -i, 1, i */
	for (uint32_t k = 0; direction(s->l->nspace, k, xi); k++) {
		along(s, y, xi, a);
		if (!solve_left(y->n, y->m, a) || !eigenvalues_of(y->n, a, re, im)) {
			g.known = false;
			return g;
		}
		for (uint32_t i = 0; i < y->n; i++) {
			const double r = turn == 0   ? -re[i]
			                 : turn == 2 ? re[i]
			                 : turn == 1 ? im[i]
			                             : -im[i],
						 j = turn % 2 ? re[i] : im[i];
			g.scale = fmax(g.scale, hypot(re[i], im[i]));
			g.most = fmax(g.most, r);
			g.least = fmin(g.least, r);
			g.imaginary = fmax(g.imaginary, fabs(j));
		}
		for (uint32_t i = 0; i < y->n * y->n; i++) size = fmax(size, fabs(a[i]));
	}
	/* The highest order alone decides nothing if its matrix is nilpotent, as
	 * for u_t == v, v_t == u_xx: the eigenvalues are rounding errors. */
	if (g.scale <= 1e-6 * size) g.known = false;
	g.oscillates = turn % 2;
	return g;
}

/* The location of a term of highest order in space. */
static Span principal_span(const ProblemResiduals *s, const PrincipalSymbol *y) {
	const Ast *e = s->l->e;
	for (uint32_t t = 0; t < y->nterms; t++)
		for (uint32_t k = 0; k < s->l->ncoords; k++) {
			const uint32_t order = y->terms[t].jet.order[k];
			if (!order) continue;
			const Span at = derivative_place(s->sp->c, s->l, e, y->terms[t].jet.field, k, order);
			if (at.source) return at;
		}
	return e->problem->name_span;
}

/* A condition at this end of t, or NULL. */
static const Residual *condition_in_time(const ProblemResiduals *s, int side) {
	for (uint32_t i = 0; i < s->residuals.n; i++) {
		const Residual *r = &s->residuals.at[i];
		if (r->at && s->l->time >= 0 && r->boundary.coord == s->l->time && r->boundary.side == side)
			return r;
	}
	return NULL;
}

static const char *time_end(const ProblemResiduals *s, int side) {
	const Coordinate *t = &s->l->coord[s->l->time];
	return arena_printf(s->sp->a, "%s = %s", atom_text(s->sp->c, t->name),
	                    source_of(s->sp->c, side ? t->hi : t->lo));
}

/* Checks a problem that evolves in t, and returns its type. */
static const char *check_evolution(const ProblemResiduals *s, PrincipalSymbol *y) {
	Ctx *c = s->sp->c;
	const Residual *first = condition_in_time(s, 0), *last = condition_in_time(s, 1);
	uint32_t seen = 0, bad = 0, stiff = 0, waves = 0, turning = 0, both = 0;
	bool backwards = last && !first;
	for (uint32_t k = 0; k < SAMPLES; k++) {
		if (!symbol_at(s, y, k, false)) continue;
		const Growth g = growth_of(s, y);
		if (!g.known) continue;
		const double tol = 1e-3 * g.scale;
		const double most = backwards && y->q == 1 ? -g.least : g.most,
					 least = backwards && y->q == 1 ? -g.most : g.least;
		seen++;
		if (y->q == 1) {
			bad += most > tol;
			both += most > tol && least < -tol;
			stiff += most <= tol && least < -tol;
			waves += most <= tol && least >= -tol && g.scale > 0;
		} else {
			bad += most > tol || g.imaginary > tol;
			turning += least < -tol && most <= tol && g.imaginary <= tol;
		}
	}
	if (!seen) return "";
	const char *kind = y->q == 2 && turning == seen ? "hyperbolic"
	                   : y->q == 2 && bad == seen   ? "elliptic"
	                   : stiff == seen ? y->p == 2 ? "parabolic" : "parabolic of higher order"
	                   : waves == seen ? y->p == 1  ? "hyperbolic"
	                                     : y->p > 1 ? "dispersive"
	                                                : ""
	                   : bad || stiff || turning ? "mixed"
	                                             : "";
	if (!y->p) kind = "ordinary in t at every place";
	if (bad == seen && y->p && (state_free(s, y) || starts_known(s))) {
		const Span at = principal_span(s, y);
		const char *start = time_end(s, backwards ? 1 : 0);
		const Residual *given = backwards ? last : first;
		Diag *d = NULL;
		if (y->q == 1 && y->p % 2 == 0 && !both) {
			d = diag_error(c, E_PROBLEM_TYPE, at,
			               "with this sign short waves grow without bound from %s on: the problem "
			               "runs backwards",
			               start);
			diag_hint(c, d, "change the sign, or give the values at %s",
			          time_end(s, backwards ? 0 : 1));
		} else if (y->q == 1 && y->p == 1)
			d = diag_error(c, E_PROBLEM_TYPE, at,
			               "the characteristic speeds of this system are not real, so that short "
			               "waves grow without bound from %s on: it is elliptic",
			               start);
		else if (y->q == 1)
			d = diag_error(
				c, E_PROBLEM_TYPE, at,
				"short waves of this system grow without bound from %s on, whichever way it runs",
				start);
		else if (!(first && last)) {
			d = diag_error(c, E_PROBLEM_TYPE, at,
			               "this is elliptic in %s, and conditions at %s alone (Cauchy's problem) "
			               "leave short waves that grow without bound",
			               coordinates_text(s, false), start);
			diag_hint(c, d, "give a condition at each of %s and %s", time_end(s, 0),
			          time_end(s, 1));
		}
		if (d && given) diag_second(c, d, given->at->span, "the values are given here");
	} else if (y->q == 2 && turning == seen && first && last) {
		Diag *d = diag_error(
			c, E_PROBLEM_TYPE, last->at->span,
			"this is hyperbolic: what happens at %s follows from %s, and cannot be given",
			time_end(s, 1), time_end(s, 0));
		diag_second(c, d, first->at->span, "the other condition is here");
		diag_hint(c, d, "give the value and the derivative by t at %s", time_end(s, 0));
	}
	return kind;
}

/* Several unknowns without t: elliptic if no direction is characteristic, det
 * S(xi) != 0. */
static const char *steady_system(const ProblemResiduals *s, PrincipalSymbol *y) {
	uint32_t seen = 0;
	for (uint32_t k = 0; k < SAMPLES && y->p; k++) {
		double xi[MAX_COORDS], a[MAX_SYSTEM * MAX_SYSTEM], re[MAX_SYSTEM], im[MAX_SYSTEM];
		if (!symbol_at(s, y, k, false)) continue;
		seen++;
		for (uint32_t d = 0; direction(s->l->nspace, d, xi); d++) {
			double least = INFINITY, most = 0;
			along(s, y, xi, a);
			if (!eigenvalues_of(y->n, a, re, im)) return "";
			for (uint32_t i = 0; i < y->n; i++) {
				least = fmin(least, hypot(re[i], im[i]));
				most = fmax(most, hypot(re[i], im[i]));
			}
			if (least <= 1e-4 * most) return "";
		}
	}
	return seen ? "elliptic" : "";
}

/* One unknown without t: the signs of the eigenvalues of the second-order part
 * (Courant and Hilbert II, ch. III). */
static const char *check_steady(const ProblemResiduals *s, PrincipalSymbol *y) {
	const Layout *l = s->l;
	uint32_t seen = 0, elliptic = 0, hyperbolic = 0, degenerate = 0;
	if (y->p == 1 && y->n == 1) return "first order";
	if (y->n > 1) return steady_system(s, y);
	if (y->p != 2) return "";
	for (uint32_t k = 0; k < SAMPLES; k++) {
		double a[MAX_SYSTEM * MAX_SYSTEM] = {0}, re[MAX_SYSTEM], im[MAX_SYSTEM], scale = 0;
		if (!symbol_at(s, y, k, false)) continue;
		for (uint32_t t = 0; t < y->nterms; t++)
			for (uint32_t i = 0; i < l->nspace; i++)
				for (uint32_t j = 0; j < l->nspace; j++) {
					const uint8_t *o = y->terms[t].jet.order;
					if (i == j ? o[l->space[i]] == 2 : o[l->space[i]] == 1 && o[l->space[j]] == 1)
						a[i * l->nspace + j] += y->terms[t].c[0] * (i == j ? 1 : 0.5);
				}
		if (!eigenvalues_of(l->nspace, a, re, im)) continue;
		uint32_t plus = 0, minus = 0;
		for (uint32_t i = 0; i < l->nspace; i++) scale = fmax(scale, fabs(re[i]));
		for (uint32_t i = 0; i < l->nspace; i++) {
			plus += re[i] > 1e-6 * scale;
			minus += re[i] < -1e-6 * scale;
		}
		seen++;
		elliptic += plus == l->nspace || minus == l->nspace;
		hyperbolic += plus && minus;
		degenerate += plus + minus < l->nspace;
	}
	if (!seen) return "";
	if (elliptic == seen) return "elliptic";
	if (hyperbolic == seen && !l->region && state_free(s, y)) {
		Ctx *c = s->sp->c;
		Diag *d = diag_error(c, E_PROBLEM_TYPE, principal_span(s, y),
		                     "this is hyperbolic in %s: conditions on all of the boundary do not "
		                     "determine a solution",
		                     coordinates_text(s, true));
		diag_hint(c, d,
		          "call the coordinate along which it goes on `t`, and give value and derivative "
		          "where it begins");
	}
	return hyperbolic == seen ? "hyperbolic" : degenerate == seen ? "parabolic" : "mixed";
}

/* ---- direction of transport ---------------------------------------------- */

/* True when a condition contains the value of a field, not only derivatives. */
static bool has_value(const ProblemResiduals *s, const Residual *r) {
	for (uint32_t j = 0; j < s->l->njets; j++)
		if (r->mentions[j] && !jet_order(s->l, &s->l->jets[j], false)) return true;
	return false;
}

/* First order in t and x: an end takes as many conditions as characteristics
 * enter there. */
static void check_flow(const ProblemResiduals *s, PrincipalSymbol *y) {
	const Layout *l = s->l;
	Ctx *c = s->sp->c;
	if (y->q != 1 || y->p != 1 || (y->n > 1 && l->nspace > 1) || condition_in_time(s, 1) ||
	    !state_free(s, y))
		return;
	for (uint32_t i = 0; i < l->nspace; i++) {
		const Coordinate *x = &l->coord[l->space[i]];
		if (!x->lo || x->periodic) continue;
		int up = -1, down = -1; /* characteristics that run up and down, at all samples */
		double xi[MAX_COORDS] = {0}, a[MAX_SYSTEM * MAX_SYSTEM], re[MAX_SYSTEM], im[MAX_SYSTEM],
			   speed = 0;
		xi[i] = 1;
		for (uint32_t k = 0; k < SAMPLES; k++) {
			int above = 0, below = 0;
			if (!symbol_at(s, y, k, false)) return;
			along(s, y, xi, a);
			if (!solve_left(y->n, y->m, a) || !eigenvalues_of(y->n, a, re, im)) return;
			for (uint32_t j = 0; j < y->n; j++) {
				if (fabs(im[j]) > 1e-3 * fabs(re[j])) return;
				above += re[j] > 1e-9;
				below += re[j] < -1e-9;
				speed = re[j];
			}
			if (k && (above != up || below != down)) return;
			up = above, down = below;
		}
		/* All conditions, and those that do not contain derivatives only: ∂n(u)
		 * == 0 is allowed where the solution leaves freely. */
		uint32_t given[2] = {0}, values[2] = {0};
		const Residual *last[2] = {NULL, NULL};
		for (uint32_t k = 0; k < s->residuals.n; k++) {
			const Residual *r = &s->residuals.at[k];
			if (!r->at || r->boundary.coord != (int)l->space[i] || r->boundary.side < 0) continue;
			given[r->boundary.side] += residual_rows(r);
			if (!has_value(s, r)) continue;
			values[r->boundary.side] += residual_rows(r);
			last[r->boundary.side] = r;
		}
		const char *name = atom_text(c, x->name),
				   *ends[2] = {source_of(c, x->lo), source_of(c, x->hi)};
		if (y->n == 1) {
			const int out = up ? 1 : down ? 0 : -1;
			if (out >= 0 && !given[0] && !given[1]) {
				Diag *d = diag_error(
					c, E_PROBLEM_CONDITION, principal_span(s, y),
					"this is first order in %s and needs 1 condition there; there are 0", name);
				diag_hint(c, d, "the solution enters at %s = %s: give its value there", name,
				          ends[!out]);
				continue;
			}
			if (out < 0 || !last[out]) continue;
			Diag *d = diag_error(c, E_PROBLEM_SIDE, last[out]->at->span,
			                     "the solution is carried towards %s = %s and leaves there; the "
			                     "condition belongs at %s = %s, where it enters",
			                     name, ends[out], name, ends[!out]);
			diag_second(c, d, principal_span(s, y), "the speed is %.4g", speed);
			continue;
		}
		for (int side = 0; side < 2; side++) {
			const uint32_t enter = (uint32_t)(side ? down : up);
			if (given[side] >= enter && values[side] <= enter) continue;
			Diag *d = diag_error(c, E_PROBLEM_CONDITION,
			                     last[side] && values[side] > enter ? last[side]->at->span
			                                                        : principal_span(s, y),
			                     "%u characteristic%s of this system enter%s at %s = %s, which "
			                     "takes as many conditions there; there %s %u",
			                     enter, enter == 1 ? "" : "s", enter == 1 ? "s" : "", name,
			                     ends[side], given[side] == 1 ? "is" : "are", given[side]);
			diag_second(c, d, x->span, "`%s` runs from %s to %s", name, ends[0], ends[1]);
		}
	}
}

/* ---- conditions at corners ----------------------------------------------- */

static const char *location_text(const ProblemResiduals *s, const Residual *a, const Residual *b) {
	const char *text = "";
	for (int k = 0; k < 2; k++) {
		const BoundaryLocation *x = k ? &b->boundary : &a->boundary;
		text = arena_printf(s->sp->a, k ? "%s, %s = %s" : "%s%s = %s", text,
		                    atom_text(s->sp->c, s->l->coord[x->coord].name),
		                    source_of(s->sp->c, x->value));
	}
	return text;
}

static void check_pair(const ProblemResiduals *s, const Residual *a, const Residual *b) {
	const Layout *l = s->l;
	double scale = 0;
	/* The size of the values: a small mismatch may be the rounding of a
	 * solution. */
	for (uint32_t k = 0; k < SAMPLES; k++) {
		double coords[MAX_COORDS], *jets = ARENA_ARRAY(s->sp->a, double, s->total + 1), x[64];
		uint32_t f = 0;
		sample_of(s, k, true, coords, jets);
		for (int which = 0; which < 2; which++) {
			const Residual *r = which ? b : a;
			double at[MAX_COORDS];
			memcpy(at, coords, sizeof at);
			at[r->boundary.coord] =
				r->boundary.side ? s->hi[r->boundary.coord] : s->lo[r->boundary.coord];
			if (!value_given(s, r, at, &f, x)) return;
			for (uint32_t i = 0; i < statement_parts(s, f); i++) scale = fmax(scale, fabs(x[i]));
		}
	}
	for (uint32_t k = 0; k < 3; k++) {
		double coords[MAX_COORDS], x[64], y[64];
		uint32_t f = 0, g = 0;
		for (uint32_t i = 0; i < l->ncoords; i++)
			coords[i] = s->lo[i] + (0.31 + 0.19 * k) * (s->hi[i] - s->lo[i]);
		coords[a->boundary.coord] =
			a->boundary.side ? s->hi[a->boundary.coord] : s->lo[a->boundary.coord];
		coords[b->boundary.coord] =
			b->boundary.side ? s->hi[b->boundary.coord] : s->lo[b->boundary.coord];
		if (!value_given(s, a, coords, &f, x) || !value_given(s, b, coords, &g, y) || f != g)
			return;
		for (uint32_t i = 0; i < statement_parts(s, f); i++) {
			if (fabs(x[i] - y[i]) <= 0.01 * scale) continue;
			const char *name = atom_text(s->sp->c, l->e->problem->fields[f].name);
			if (s->sizes[f]) name = arena_printf(s->sp->a, "%s[%u]", name, i);
			Diag *d =
				warn_once(s, W_PROBLEM_CORNER, b->q->span,
			              arena_printf(s->sp->a,
			                           "at %s two conditions meet that contradict each other: `%s` "
			                           "is %.6g by this one and %.6g by the other",
			                           location_text(s, a, b), name, y[i], x[i]));
			if (d) diag_second(s->sp->c, d, a->q->span, "the other one is here");
			return;
		}
	}
}

static void check_corners(const ProblemResiduals *s) {
	for (uint32_t i = 0; i < fields_with_equation(s->l->e); i++)
		if (s->sizes[i] > 64) return;
	for (uint32_t i = 0; i < s->residuals.n; i++)
		for (uint32_t k = 0; k < i; k++) {
			const Residual *a = &s->residuals.at[k], *b = &s->residuals.at[i];
			if (!a->at || !b->at || a->q == b->q || a->boundary.coord < 0 ||
			    b->boundary.coord < 0 || a->boundary.side < 0 || b->boundary.side < 0 ||
			    a->boundary.coord == b->boundary.coord)
				continue;
			check_pair(s, a, b);
		}
}

/* ---- unknowns up to a constant ------------------------------------------- */

static void check_constants(const ProblemResiduals *s) {
	const Layout *l = s->l;
	const Ast *e = l->e;
	for (uint32_t f = 0; f < fields_with_equation(e); f++) {
		const JetVariable value = {.field = f};
		const int j = jet_find(l, &value);
		bool fixed = j < 0, evolves = false, occurs = false;
		for (uint32_t k = 0; k < l->njets; k++)
			evolves |= l->jets[k].field == f && time_order(l, &l->jets[k]) > 0;
		const Residual *last = NULL;
		for (uint32_t i = 0; i < s->residuals.n && !fixed && !evolves; i++) {
			const Residual *r = &s->residuals.at[i];
			double *out = ARENA_ARRAY(s->sp->a, double, residual_rows(r) + 1);
			for (uint32_t k = 0; k < l->njets; k++)
				if (r->mentions[k] && l->jets[k].field == f && r->at) last = r;
			for (uint32_t k = 0; k < l->njets; k++)
				occurs |= r->mentions[k] && l->jets[k].field == f && (int)k != j;
			if (!r->mentions[j]) continue;
			for (uint32_t k = 0; k < SAMPLES && !fixed; k++) {
				double coords[MAX_COORDS], *jets = ARENA_ARRAY(s->sp->a, double, s->total + 1);
				sample_of(s, k, k == 0, coords, jets);
				for (uint32_t part = 0; part < statement_parts(s, f) && !fixed; part++) {
					/* A residual that cannot be evaluated may fix it. */
					fixed = !residual_slope(s, r, coords, jets, s->offset[j] + part, true, out);
					for (uint32_t m = 0; m < residual_rows(r); m++) fixed |= out[m] != 0;
				}
			}
		}
		if (fixed || evolves || !occurs) continue;
		const char *name = atom_text(s->sp->c, e->problem->fields[f].name), *zeros = "0",
				   *point = "";
		for (uint32_t i = 0; i < l->nspace; i++)
			point = arena_printf(s->sp->a, i ? "%s, 0" : "%s0", point);
		if (s->sizes[f]) {
			zeros = "[0";
			for (int64_t i = 1; i < s->sizes[f]; i++)
				zeros = arena_printf(s->sp->a, "%s, 0", zeros);
			zeros = arena_printf(s->sp->a, "%s]", zeros);
		}
		Diag *d = warn_once(
			s, W_PROBLEM_CONSTANT, e->problem->fields[f].span,
			arena_printf(s->sp->a,
		                 "`%s` occurs in equations and conditions by its derivatives only: it is "
		                 "determined up to a constant%s",
		                 name,
		                 fields_with_equation(e) == 1
		                     ? ", and there is a solution only if sources and flux balance"
		                     : ""));
		if (!d) continue;
		if (last) diag_second(s->sp->c, d, last->q->span, "this condition does not give its value");
		diag_hint(s->sp->c, d, "a condition at one point fixes it: %s == %s at (%s%s)", name, zeros,
		          point, l->nspace == 1 ? "," : "");
	}
}

/* ---- the whole problem --------------------------------------------------- */

void statement_check(ProblemResiduals *s) {
	Ctx *c = s->sp->c;
	const uint32_t before = diag_count(c, SEV_ERROR);
	s->type = "";
	statement_counts(s);
	if (diag_count(c, SEV_ERROR) == before && s->bounded) {
		PrincipalSymbol y;
		if (orders_of(s, &y)) {
			s->type = y.q == 1 || y.q == 2 ? check_evolution(s, &y)
			          : y.q == 0           ? check_steady(s, &y)
			                               : "";
			if (diag_count(c, SEV_ERROR) == before) check_flow(s, &y);
		}
		if (diag_count(c, SEV_ERROR) == before && !s->checking) {
			check_corners(s);
			check_constants(s);
		}
	}
	if (diag_count(c, SEV_ERROR) != before) ctx_throw(c, ST_ERROR);
}
