/* mixed_partials.c - sums of mixed derivatives by Taylor expansions in several
 * directions.
 *
 * Method: polarisation (Griewank, Utke and Walther, "Evaluating higher
 * derivative tensors by forward propagation of univariate Taylor series", Math.
 * Comp. 69 (2000)). Let c[a, b] be the Taylor coefficients of g(x + s, y + t).
 * The expansion along (p, q) has the coefficients L_m = sum over a + b = m of
 * p^a q^b c[a, b]. A weighted sum of the c of one degree is therefore a
 * weighted sum of L_m along some directions. As many directions as there are c
 * of that degree suffice for any sum, fewer for some.
 *
 * (d/dx + d/dy)^2 g needs one direction, the Laplacian to the third power in
 * the plane four; both are cheaper. One mixed derivative alone costs less as a
 * nested expansion, which shares its work with the derivatives of lower order.
 *
 * Nesting is visible in the origins of functions: an expansion along y of an
 * expansion along x of g (a *chain*). Chains of one function at one point form
 * a group. Two chains expand the same function when their values, inlined on
 * the same operands, are the same value. The sums are followed through
 * additions and constant factors up to other uses.
 *
 * Needs: mixed_partials.h, nested_jets.h.
 *
 * Contract:
 * - As in mixed_partials.h. The result is an equivalent form of the function,
 *   not always a cheaper one.
 */
#include "autodiff/taylor/mixed_partials.h"
#include "autodiff/taylor/nested_jets.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	VARS_MOST = 3,
	ORDER_MOST = 8,
	TERMS_MOST = 24,
	DIRS_MOST = 12,
	MONOMIALS_MOST = 45,
	CANDIDATES_MOST = 32,
	TESTS_MOST = 4000
};
#define EXACT 1e-12 /* relative residual that is accepted for a functional */

typedef struct Monomial { /* a coefficient of one result of one group */
	uint16_t group, result;
	uint8_t e[VARS_MOST];
} Monomial;

typedef struct WeightedMonomial {
	Monomial at;
	double by;
} WeightedMonomial;

typedef struct WeightedValue {
	Ref value;
	double by;
} WeightedValue;

/* A value as a sum of coefficients and other values. */
typedef struct CoefficientSum {
	uint32_t n, nrest;
	bool mixed, leaves; /* has a mixed coefficient; has a use that is no such sum */
	WeightedMonomial at[TERMS_MOST];
	WeightedValue rest[TERMS_MOST];
} CoefficientSum;

typedef struct ChainLevel {
	uint32_t param, order;
	double along;
	const bool *moves;
	uint32_t nmoves;
	uint8_t var; /* index in the group */
} ChainLevel;

typedef struct JetChain {
	const Inst *call;
	Fn *base;
	uint32_t n;
	ChainLevel level[VARS_MOST]; /* the innermost first */
	uint32_t group;
	Ref *point; /* the results of the base, inlined */
} JetChain;

typedef struct Direction {
	double d[VARS_MOST];
	uint32_t order;
	Ref *coef; /* [result * ORDER_MOST + k - 1], once emitted */
} Direction;

typedef struct JetGroup {
	const JetChain *first;
	uint32_t nvars, param[VARS_MOST];
	Ref var[VARS_MOST];
	bool bad, mixed, emitted;
	uint32_t ndirs;
	Direction dirs[DIRS_MOST];
	Ref *primal;
} JetGroup;

typedef struct MixedPartialsPass {
	Ctx *c;
	/* flat: f inlined, except for nested jets; one reference each of flat and
	 * made */
	Fn *f, *flat, *made;
	Arena *scratch;
	VEC(JetChain) chains;
	VEC(JetGroup) groups;
	CoefficientSum **form; /* by value of flat */
	Builder *b;
	RefMap map;
	/* Multiplications of coefficients, estimated before either form is
	 * built. */
	double products, nested;
} MixedPartialsPass;

/* ---- chains -------------------------------------------------------------- */

typedef struct VisitedFns {
	Arena *scratch;
	VEC(const Fn *) at;
} VisitedFns;

static Fn *callee_of(Ctx *c, const Inst *in) {
	Fn *g = in->op == OP_CALL ? fn_get(c, (FnId)attr_int(c, OP_CALL, in->attr, 0)) : NULL;
	return g && g->finished ? g : NULL;
}

static bool calls_nested_jets(VisitedFns *s, const Fn *f) {
	for (uint32_t i = 0; i < s->at.n; i++)
		if (s->at.at[i] == f) return false;
	VEC_PUSH(s->scratch, &s->at, f);
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Fn *g = callee_of(f->ctx, &f->insts.at[i]);
		if (g && (transform_info(g).nested_order || calls_nested_jets(s, g))) return true;
	}
	return false;
}

/* The function that g expands, and the levels of expansion. Returns false when
 * g is not an expansion along scalars of a function without expansions in
 * it. */
static bool steps_of(MixedPartialsPass *p, Fn *g, JetChain *out) {
	ChainLevel outwards[VARS_MOST];
	uint32_t n = 0;
	for (;;) {
		const TransformInfo o = transform_info(g);
		if (!o.nested_order) break;
		Fn *from = n < VARS_MOST ? fn_get(p->c, o.nested_of) : NULL;
		const Transform *d = from && from->finished ? transform_that_made(from, g) : NULL;
		if (!d || !d->done) return false;
		outwards[n++] = (ChainLevel){.param = o.nested_param,
		                             .order = o.nested_order,
		                             .moves = d->result_active,
		                             .nmoves = fn_nresults(from)};
		g = from;
	}
	VisitedFns seen = {.scratch = p->scratch};
	if (!n || g->effects || g->checkpoint || g->batch_sequentially_by ||
	    calls_nested_jets(&seen, g))
		return false;
	out->base = g;
	out->n = n;
	for (uint32_t i = 0; i < n; i++) out->level[i] = outwards[n - 1 - i];
	return true;
}

static Fn *keep_nested_jets(void *ud, Fn *g) {
	JetChain ignored;
	return steps_of(ud, g, &ignored) ? NULL : g;
}

static bool number_of(const Fn *f, Ref r, double *out) {
	Value v;
	const Const *k = ref_constant(f, r);
	if (k && k->value.kind == V_SCALAR) return value_as_f64(k->value, out);
	return ref_splat(f, r, &v) && value_as_f64(v, out);
}

static bool read_chain(MixedPartialsPass *p, const Inst *in, JetChain *out) {
	const Fn *f = p->flat;
	Fn *g = callee_of(p->c, in);
	*out = (JetChain){.call = in};
	if (!g || !steps_of(p, g, out)) return false;
	const uint32_t n = fn_nparams(out->base);
	uint32_t order = 0;
	if (in->nargs != n + out->n) return false;
	for (uint32_t i = 0; i < out->n; i++) {
		ChainLevel *l = &out->level[i];
		order += l->order;
		if (l->param >= n || order > ORDER_MOST || !number_of(f, inst_arg(f, in, n + i), &l->along))
			return false;
		const Ref x = inst_arg(f, in, l->param);
		uint32_t times = 0;
		for (uint32_t k = 0; k < n; k++) times += inst_arg(f, in, k) == x;
		if (!ref_is_value(x) || times != 1) return false;
		for (uint32_t k = 0; k < i; k++)
			if (out->level[k].param == l->param) return false;
	}
	return true;
}

/* ---- groups -------------------------------------------------------------- */

static void gather_groups(MixedPartialsPass *p) {
	const Fn *f = p->flat;
	Builder *b = build_begin(p->c, f->name, f->span, f);
	Ref *as = ARENA_ARRAY(p->scratch, Ref, f->vals.n + 1);
	for (uint32_t i = 0; i < p->chains.n; i++) {
		JetChain *ch = &p->chains.at[i];
		const uint32_t n = fn_nparams(ch->base), nresults = fn_nresults(ch->base);
		Ref *args = ARENA_ARRAY(p->scratch, Ref, n + 1);
		for (uint32_t k = 0; k < n; k++) {
			const Ref r = inst_arg(f, ch->call, k);
			if (ref_is_value(r) && as[REF_INDEX(r)] == REF_NONE)
				as[REF_INDEX(r)] = build_param(b, ref_type(f, r), 0);
			args[k] =
				ref_is_value(r) ? as[REF_INDEX(r)] : build_const(b, ref_constant(f, r)->value);
		}
		ch->point = ARENA_ARRAY(p->scratch, Ref, nresults + 1);
		build_inline(b, ch->base, args, ch->point);
		ch->group = UINT32_MAX;
		for (uint32_t k = 0; k < i && ch->group == UINT32_MAX; k++) {
			const JetChain *other = &p->chains.at[k];
			if (fn_nresults(other->base) == nresults &&
			    !memcmp(other->point, ch->point, nresults * sizeof *ch->point))
				ch->group = other->group;
		}
		if (ch->group != UINT32_MAX) continue;
		ch->group = p->groups.n;
		JetGroup g = {.first = ch};
		VEC_PUSH(p->scratch, &p->groups, g);
	}
	build_abandon(b);
	for (uint32_t i = 0; i < p->chains.n; i++) {
		JetChain *ch = &p->chains.at[i];
		JetGroup *g = &p->groups.at[ch->group];
		for (uint32_t k = 0; k < ch->n; k++) {
			const Ref x = inst_arg(f, ch->call, ch->level[k].param);
			uint32_t v = 0, found = 0;
			while (v < g->nvars && g->var[v] != x) v++;
			if (v == VARS_MOST) {
				g->bad = true;
				break;
			}
			if (v == g->nvars) {
				for (uint32_t a = 0; a < fn_nparams(g->first->base); a++) {
					if (inst_arg(f, g->first->call, a) != x) continue;
					g->param[v] = a;
					found++;
				}
				g->bad |= found != 1;
				g->var[g->nvars++] = x;
			}
			ch->level[k].var = (uint8_t)v;
		}
		g->mixed |= ch->n > 1;
	}
	for (uint32_t i = 0; i < p->groups.n; i++) p->groups.at[i].bad |= !p->groups.at[i].mixed;
}

/* The coefficient that each result of the call is, and its factor; NULL when
 * the results do not have the expected layout. */
static WeightedMonomial *coefficients(MixedPartialsPass *p, const JetChain *ch) {
	uint32_t n = fn_nresults(ch->base);
	WeightedMonomial *at = ARENA_ARRAY(p->scratch, WeightedMonomial, ch->call->nresults + 1);
	if (n > ch->call->nresults) return NULL;
	for (uint32_t i = 0; i < n; i++)
		at[i] = (WeightedMonomial){{(uint16_t)ch->group, (uint16_t)i, {0}}, 1};
	for (uint32_t l = 0; l < ch->n; l++) {
		const ChainLevel *v = &ch->level[l];
		if (v->nmoves != n) return NULL;
		const uint32_t before = n;
		for (uint32_t i = 0; i < before; i++) {
			double by = 1;
			for (uint32_t k = 1; v->moves[i] && k <= v->order; k++) {
				by *= v->along;
				if (n == ch->call->nresults) return NULL;
				at[n] = at[i];
				at[n].by *= by;
				at[n++].at.e[v->var] = (uint8_t)k;
			}
		}
	}
	return n == ch->call->nresults ? at : NULL;
}

static uint32_t degree(const Monomial *m) {
	uint32_t n = 0;
	for (uint32_t v = 0; v < VARS_MOST; v++) n += m->e[v];
	return n;
}

static bool is_mixed(const Monomial *m) {
	uint32_t n = 0;
	for (uint32_t v = 0; v < VARS_MOST; v++) n += m->e[v] > 0;
	return n > 1;
}

/* ---- forms --------------------------------------------------------------- */

static CoefficientSum *form_of(const MixedPartialsPass *p, Ref r) {
	return ref_is_value(r) ? p->form[REF_INDEX(r)] : NULL;
}

static bool add_form(const MixedPartialsPass *p, CoefficientSum *to, Ref r, double by) {
	const CoefficientSum *x = form_of(p, r);
	if (!x) {
		if (to->nrest == TERMS_MOST) return false;
		to->rest[to->nrest++] = (WeightedValue){r, by};
		return true;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t k = 0;
		while (k < to->n && memcmp(&to->at[k].at, &x->at[i].at, sizeof(Monomial))) k++;
		if (k == TERMS_MOST) return false;
		if (k == to->n) to->at[to->n++] = (WeightedMonomial){x->at[i].at, 0};
		to->at[k].by += by * x->at[i].by;
	}
	for (uint32_t i = 0; i < x->nrest; i++) {
		if (to->nrest == TERMS_MOST) return false;
		to->rest[to->nrest++] = (WeightedValue){x->rest[i].value, by * x->rest[i].by};
	}
	to->mixed |= x->mixed;
	return true;
}

static CoefficientSum *form_made(MixedPartialsPass *p, const Inst *in) {
	const Fn *f = p->flat;
	if (in->nresults != 1 || in->nargs > 2 ||
	    !dtype_is_real((Dtype)ref_ty(f, inst_result(in, 0))->dtype))
		return NULL;
	const Ref x = inst_arg(f, in, 0), y = in->nargs > 1 ? inst_arg(f, in, 1) : REF_NONE;
	CoefficientSum *out = ARENA_NEW(p->scratch, CoefficientSum);
	double k;
	bool good = false;
	if (!form_of(p, x) && !form_of(p, y)) return NULL;
	switch ((Op)in->op) {
	case OP_NEG: good = add_form(p, out, x, -1); break;
	case OP_ADD: good = add_form(p, out, x, 1) && add_form(p, out, y, 1); break;
	case OP_SUB: good = add_form(p, out, x, 1) && add_form(p, out, y, -1); break;
	case OP_MUL:
		good = number_of(f, x, &k) ? add_form(p, out, y, k)
		                           : number_of(f, y, &k) && add_form(p, out, x, k);
		break;
	case OP_DIV: good = number_of(f, y, &k) && k != 0 && add_form(p, out, x, 1 / k); break;
	default: break;
	}
	return good ? out : NULL;
}

static void leave(MixedPartialsPass *p, Ref r) {
	CoefficientSum *x = form_of(p, r);
	if (x) x->leaves = true;
}

static void leave_inst(MixedPartialsPass *p, const Inst *in) {
	const Fn *f = p->flat;
	for (uint32_t k = 0; k < in->nargs; k++) leave(p, inst_arg(f, in, k));
	for (uint32_t k = 0; k < in->nregions; k++) {
		const Region *r = inst_region(f, in, k);
		for (uint32_t i = 0; i < r->ninsts; i++)
			leave_inst(p, &f->insts.at[f->inst_order.at[r->insts + i]]);
		for (uint32_t i = 0; i < r->nresults; i++) leave(p, f->args.at[r->results + i]);
	}
}

static const JetChain *chain_at(const MixedPartialsPass *p, const Inst *in) {
	for (uint32_t i = 0; i < p->chains.n; i++)
		if (p->chains.at[i].call == in && !p->groups.at[p->chains.at[i].group].bad)
			return &p->chains.at[i];
	return NULL;
}

static bool find_forms(MixedPartialsPass *p) {
	const Fn *f = p->flat;
	const Region *top = &f->regions.at[0];
	p->form = ARENA_ARRAY(p->scratch, CoefficientSum *, f->vals.n + 1);
	for (uint32_t i = 0; i < top->ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[top->insts + i]];
		const JetChain *ch = chain_at(p, in);
		if (!ch) {
			if (in->nargs && !in->nregions && in->nresults == 1)
				p->form[in->results] = form_made(p, in);
			if (!in->nresults || !p->form[in->results]) leave_inst(p, in);
			continue;
		}
		const WeightedMonomial *at = coefficients(p, ch);
		if (!at) return false;
		for (uint32_t k = 0; k < in->nresults; k++) {
			CoefficientSum *x = p->form[in->results + k] = ARENA_NEW(p->scratch, CoefficientSum);
			x->at[x->n++] = at[k];
			x->mixed = is_mixed(&at[k].at);
		}
	}
	for (uint32_t k = 0; k < fn_nresults(f); k++) leave(p, fn_result(f, k));
	return true;
}

/* ---- directions ---------------------------------------------------------- */

/* The coefficients of one degree of one result of one group in a sum, by
 * monomial. */
typedef struct Functional {
	uint32_t group, degree, result;
	bool mixed;
	double by[MONOMIALS_MOST], weight[DIRS_MOST];
} Functional;

static uint32_t monomials(uint32_t nvars, uint32_t m, uint8_t (*e)[VARS_MOST]) {
	uint32_t n = 0;
	for (uint32_t a = 0; a <= m; a++)
		for (uint32_t b = 0; a + b <= m; b++) {
			if (nvars < 3 && a + b != m) continue;
			e[n][0] = (uint8_t)a;
			e[n][1] = (uint8_t)b;
			e[n++][2] = (uint8_t)(m - a - b);
		}
	return n;
}

static uint32_t parts_of(const MixedPartialsPass *p, const CoefficientSum *x, Functional *out) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		const Monomial *t = &x->at[i].at;
		const uint32_t m = degree(t);
		uint32_t k = 0, place = 0;
		while (k < n &&
		       !(out[k].group == t->group && out[k].degree == m && out[k].result == t->result))
			k++;
		if (k == n) out[n++] = (Functional){.group = t->group, .degree = m, .result = t->result};
		uint8_t e[MONOMIALS_MOST][VARS_MOST];
		monomials(p->groups.at[t->group].nvars, m, e);
		while (memcmp(e[place], t->e, VARS_MOST)) place++;
		out[k].by[place] += x->at[i].by;
		out[k].mixed |= is_mixed(t) && x->at[i].by != 0;
	}
	return n;
}

static double power_of(const double *d, const uint8_t *e, uint32_t nvars) {
	double out = 1;
	for (uint32_t v = 0; v < nvars; v++)
		for (uint32_t k = 0; k < e[v]; k++) out *= d[v];
	return out;
}

/* The functional's weights on the directions, by Gram-Schmidt applied twice.
 * Returns false when the directions do not span it. */
static bool weights(const JetGroup *g, const Direction *dirs, uint32_t ndirs, const Functional *w,
                    double *out) {
	uint8_t e[MONOMIALS_MOST][VARS_MOST];
	const uint32_t n = monomials(g->nvars, w->degree, e);
	double q[DIRS_MOST][MONOMIALS_MOST], r[DIRS_MOST][DIRS_MOST] = {{0}}, left[MONOMIALS_MOST],
										 size = 0, rest = 0, y[DIRS_MOST] = {0};
	bool used[DIRS_MOST] = {false};
	for (uint32_t j = 0; j < ndirs; j++) {
		double whole = 0, own = 0;
		for (uint32_t i = 0; i < n; i++) {
			q[j][i] = power_of(dirs[j].d, e[i], g->nvars);
			whole += q[j][i] * q[j][i];
		}
		for (int twice = 0; twice < 2; twice++)
			for (uint32_t k = 0; k < j; k++) {
				double dot = 0;
				for (uint32_t i = 0; used[k] && i < n; i++) dot += q[k][i] * q[j][i];
				for (uint32_t i = 0; used[k] && i < n; i++) q[j][i] -= dot * q[k][i];
				r[k][j] += dot;
			}
		for (uint32_t i = 0; i < n; i++) own += q[j][i] * q[j][i];
		used[j] = own > 1e-20 * whole;
		r[j][j] = sqrt(own);
		for (uint32_t i = 0; used[j] && i < n; i++) q[j][i] /= r[j][j];
	}
	for (uint32_t i = 0; i < n; i++) {
		left[i] = w->by[i];
		size += left[i] * left[i];
	}
	for (int twice = 0; twice < 2; twice++)
		for (uint32_t j = 0; j < ndirs; j++) {
			double dot = 0;
			for (uint32_t i = 0; used[j] && i < n; i++) dot += q[j][i] * left[i];
			for (uint32_t i = 0; used[j] && i < n; i++) left[i] -= dot * q[j][i];
			y[j] += dot;
		}
	for (uint32_t i = 0; i < n; i++) rest += left[i] * left[i];
	if (rest > EXACT * EXACT * size) return false;
	double most = 0;
	for (uint32_t j = ndirs; j-- > 0;) {
		out[j] = 0;
		if (!used[j]) continue;
		double sum = y[j];
		for (uint32_t k = j + 1; k < ndirs; k++) sum -= r[j][k] * out[k];
		out[j] = sum / r[j][j];
		most = fmax(most, fabs(out[j]));
	}
	for (uint32_t j = 0; j < ndirs; j++) {
		/* Exact weights are fractions with small denominators. */
		const double even = round(out[j] * 5040) / 5040;
		if (fabs(out[j]) < 1e-13 * most) out[j] = 0;
		else if (fabs(out[j] - even) < 1e-13 * most) out[j] = even;
	}
	return true;
}

typedef VEC(Functional) Functionals;

static bool all_served(const MixedPartialsPass *p, uint32_t group, uint32_t m,
                       const Functionals *all, const Direction *dirs, uint32_t ndirs) {
	double ignored[DIRS_MOST];
	for (uint32_t i = 0; i < all->n; i++) {
		const Functional *w = &all->at[i];
		if (w->group == group && w->degree == m && w->mixed &&
		    !weights(&p->groups.at[group], dirs, ndirs, w, ignored))
			return false;
	}
	return true;
}

static uint32_t candidate(Direction *out, uint32_t n, double x, double y, double z) {
	if (n == CANDIDATES_MOST) return n;
	for (uint32_t i = 0; i < n; i++)
		if (out[i].d[0] == x && out[i].d[1] == y && out[i].d[2] == z) return n;
	out[n] = (Direction){.d = {x, y, z}};
	return n + 1;
}

/* Candidate directions, the axes first. For second derivatives of two variables
 * also the squares that complete a quadratic form. */
static uint32_t candidates(const JetGroup *g, uint32_t group, uint32_t m, const Functionals *all,
                           Direction *out) {
	uint32_t n = 0;
	if (g->nvars > 2) {
		for (int size = 1; size <= 3; size++)
			for (int i = 1; i < 27; i++) {
				const int d[3] = {(i / 9 + 1) % 3 - 1, (i / 3 % 3 + 1) % 3 - 1,
				                  (i % 3 + 1) % 3 - 1};
				const int first = d[0] ? d[0] : d[1] ? d[1] : d[2];
				if (abs(d[0]) + abs(d[1]) + abs(d[2]) == size && first > 0)
					n = candidate(out, n, d[0], d[1], d[2]);
			}
		return n;
	}
	const double root = sqrt(3.0),
				 axis[][2] = {{1, 0},    {0, 1},     {1, 1}, {1, -1}, {1, root}, {1, -root},
	                          {root, 1}, {root, -1}, {1, 2}, {1, -2}, {2, 1},    {2, -1}};
	for (uint32_t i = 0; i < sizeof axis / sizeof *axis; i++)
		n = candidate(out, n, axis[i][0], axis[i][1], 0);
	for (uint32_t i = 0; m == 2 && i < all->n; i++) {
		const Functional *w = &all->at[i]; /* of (0, 2), (1, 1), (2, 0) */
		if (w->group != group || w->degree != 2 || !w->mixed) continue;
		if (w->by[2] != 0) n = candidate(out, n, 1, w->by[1] / w->by[2], 0);
		if (w->by[0] != 0) n = candidate(out, n, w->by[1] / w->by[0], 1, 0);
	}
	return n;
}

typedef struct DirectionSearch {
	const MixedPartialsPass *p;
	uint32_t group, m, n, tests;
	const Functionals *all;
	Direction from[CANDIDATES_MOST];
	Direction dirs[DIRS_MOST];
} DirectionSearch;

/* Adds `more` of the candidates from `at` on to ndirs directions. */
static bool choose(DirectionSearch *k, uint32_t ndirs, uint32_t at, uint32_t more) {
	if (!more)
		return ++k->tests < TESTS_MOST && all_served(k->p, k->group, k->m, k->all, k->dirs, ndirs);
	for (uint32_t i = at; i + more <= k->n; i++) {
		k->dirs[ndirs] = k->from[i];
		if (choose(k, ndirs + 1, i + 1, more - 1)) return true;
		if (k->tests >= TESTS_MOST) return false;
	}
	return false;
}

static bool same_direction(const Direction *x, const Direction *y) {
	return !memcmp(x->d, y->d, sizeof x->d);
}

static Direction *axis_of(JetGroup *g, uint32_t v) {
	Direction axis = {.d = {v == 0, v == 1, v == 2}};
	for (uint32_t i = 0; i < g->ndirs; i++)
		if (same_direction(&g->dirs[i], &axis)) return &g->dirs[i];
	if (g->ndirs == DIRS_MOST) return NULL;
	g->dirs[g->ndirs] = axis;
	return &g->dirs[g->ndirs++];
}

/* Chooses the directions of the highest degree first: their expansions contain
 * the lower degrees. */
static bool choose_directions(MixedPartialsPass *p, uint32_t group, const Functionals *all) {
	JetGroup *g = &p->groups.at[group];
	for (uint32_t m = ORDER_MOST; m >= 2; m--) {
		bool any = false;
		for (uint32_t i = 0; i < all->n; i++)
			any |= all->at[i].group == group && all->at[i].degree == m && all->at[i].mixed;
		if (!any) continue;
		DirectionSearch *k = ARENA_NEW(p->scratch, DirectionSearch);
		*k = (DirectionSearch){.p = p, .group = group, .m = m, .all = all};
		k->n = candidates(g, group, m, all, k->from);
		memcpy(k->dirs, g->dirs, g->ndirs * sizeof *g->dirs);
		uint32_t more = 0;
		while (g->ndirs + more <= DIRS_MOST && more <= k->n && k->tests < TESTS_MOST &&
		       !choose(k, g->ndirs, 0, more))
			more++;
		if (g->ndirs + more > DIRS_MOST || more > k->n || k->tests >= TESTS_MOST) return false;
		for (uint32_t i = 0; i < more; i++) {
			bool there = false;
			for (uint32_t j = 0; j < g->ndirs; j++)
				there |= same_direction(&g->dirs[j], &k->dirs[g->ndirs + i]);
			if (there) return false;
		}
		for (uint32_t i = 0; i < more; i++) {
			g->dirs[g->ndirs] = k->dirs[g->ndirs];
			g->ndirs++;
		}
		double w[DIRS_MOST];
		for (uint32_t i = 0; i < all->n; i++) {
			if (all->at[i].group != group || all->at[i].degree != m || !all->at[i].mixed ||
			    !weights(g, g->dirs, g->ndirs, &all->at[i], w))
				continue;
			for (uint32_t j = 0; j < g->ndirs; j++)
				if (w[j] != 0 && g->dirs[j].order < m) g->dirs[j].order = m;
		}
	}
	return true;
}

/* Collects the sums that have other uses, and the orders needed along the axes.
 * Returns whether expansions along directions are expected to cost less. */
static bool plan_groups(MixedPartialsPass *p) {
	const Fn *f = p->flat;
	Functionals all = {0};
	for (uint32_t v = 0; v < f->vals.n; v++) {
		const CoefficientSum *x = p->form[v];
		if (!x || !x->leaves) continue;
		Functional *parts = ARENA_ARRAY(p->scratch, Functional, TERMS_MOST);
		const uint32_t n = parts_of(p, x, parts);
		for (uint32_t i = 0; i < n; i++) {
			VEC_PUSH(p->scratch, &all, parts[i]);
			if (parts[i].mixed) continue;
			JetGroup *g = &p->groups.at[parts[i].group];
			for (uint32_t k = 0; k < x->n; k++)
				for (uint32_t a = 0; a < g->nvars; a++) {
					const Monomial *t = &x->at[k].at;
					if (t->group != parts[i].group || degree(t) != parts[i].degree || !t->e[a])
						continue;
					Direction *axis = axis_of(g, a);
					if (!axis) return false;
					if (axis->order < t->e[a]) axis->order = t->e[a];
				}
		}
	}
	bool any = false;
	for (uint32_t i = 0; i < p->groups.n; i++) {
		JetGroup *g = &p->groups.at[i];
		if (g->bad || !choose_directions(p, i, &all)) {
			if (!g->bad) return false;
			continue;
		}
		any = true;
		p->products += 1;
		for (uint32_t k = 0; k < g->ndirs; k++)
			p->products += 0.5 * g->dirs[k].order * (g->dirs[k].order + 3);
		bool has[ORDER_MOST + 1][ORDER_MOST + 1][ORDER_MOST + 1] = {{{false}}};
		for (uint32_t k = 0; k < p->chains.n; k++) {
			const JetChain *ch = &p->chains.at[k];
			if (ch->group != i) continue;
			uint32_t to[VARS_MOST] = {0};
			for (uint32_t l = 0; l < ch->n; l++) to[ch->level[l].var] = ch->level[l].order;
			for (uint32_t a = 0; a <= to[0]; a++)
				for (uint32_t b = 0; b <= to[1]; b++)
					for (uint32_t d = 0; d <= to[2]; d++) {
						if (!has[a][b][d]) p->nested += (a + 1.0) * (b + 1) * (d + 1);
						has[a][b][d] = true;
					}
		}
	}
	return any && p->products < p->nested;
}

/* ---- the other form ------------------------------------------------------ */

static void emit_expansions(MixedPartialsPass *p, JetGroup *g) {
	Fn *base = g->first->base;
	const uint32_t n = fn_nparams(base), nresults = fn_nresults(base);
	Ref *value = ARENA_ARRAY(p->scratch, Ref, n + nresults + 1);
	g->emitted = true;
	for (uint32_t i = 0; i < g->ndirs; i++) {
		Direction *d = &g->dirs[i];
		if (!d->order) continue;
		bool *mask = ARENA_ARRAY(p->scratch, bool, n + 1),
			 *moves = ARENA_ARRAY(p->scratch, bool, nresults + 1);
		double *along = ARENA_ARRAY(p->scratch, double, n + 1);
		for (uint32_t v = 0; v < g->nvars; v++) {
			mask[g->param[v]] = d->d[v] != 0;
			along[g->param[v]] = d->d[v];
		}
		Fn *jet = ad_jet(p->c, base, d->order, true, mask, moves);
		Ref *args = ARENA_ARRAY(p->scratch, Ref, n + VARS_MOST + 1),
			*out = ARENA_ARRAY(p->scratch, Ref, fn_nresults(jet) + 1);
		uint32_t nargs = n, at = nresults;
		for (uint32_t k = 0; k < n; k++)
			args[k] = refmap_get(p->b, &p->map, inst_arg(p->flat, g->first->call, k));
		for (uint32_t k = 0; k < n; k++)
			if (mask[k])
				args[nargs++] = build_full(p->b, ref_type(build_fn(p->b), args[k]), along[k]);
		build_call(p->b, jet, nargs, args, out);
		d->coef = ARENA_ARRAY(p->scratch, Ref, nresults * ORDER_MOST + 1);
		g->primal = out;
		for (uint32_t r = 0; r < nresults; r++)
			for (uint32_t k = 1; moves[r] && k <= d->order; k++)
				d->coef[r * ORDER_MOST + k - 1] = out[at++];
	}
	if (g->primal) return;
	for (uint32_t k = 0; k < n; k++)
		value[k] = refmap_get(p->b, &p->map, inst_arg(p->flat, g->first->call, k));
	g->primal = value + n;
	build_call(p->b, base, n, value, g->primal);
}

static Ref scaled(Builder *b, Ref x, double by) {
	if (by == 1) return x;
	const TypeId t = ref_type(build_fn(b), x);
	return by == -1 ? build1(b, OP_NEG, x) : build2(b, OP_MUL, build_full(b, t, by), x);
}

static Ref plus(Builder *b, Ref x, Ref y) {
	return x == REF_NONE ? y : y == REF_NONE ? x : build2(b, OP_ADD, x, y);
}

static Ref expansion_coef(const Direction *d, uint32_t result, uint32_t k) {
	return d->coef[result * ORDER_MOST + k - 1];
}

static Ref sum_of_form(MixedPartialsPass *p, const CoefficientSum *x, TypeId type) {
	Builder *b = p->b;
	Functional *parts = ARENA_ARRAY(p->scratch, Functional, TERMS_MOST);
	const uint32_t n = parts_of(p, x, parts);
	Ref sum = REF_NONE;
	for (uint32_t i = 0; i < x->nrest; i++)
		sum = plus(b, sum, scaled(b, refmap_get(b, &p->map, x->rest[i].value), x->rest[i].by));
	for (uint32_t i = 0; i < n; i++) {
		JetGroup *g = &p->groups.at[parts[i].group];
		const uint32_t m = parts[i].degree;
		double w[DIRS_MOST] = {0};
		if (m && parts[i].mixed) weights(g, g->dirs, g->ndirs, &parts[i], w);
		for (uint32_t j = 0; m && parts[i].mixed && j < g->ndirs; j++) {
			const Ref l = w[j] != 0 ? expansion_coef(&g->dirs[j], parts[i].result, m) : REF_NONE;
			if (l != REF_NONE) sum = plus(b, sum, scaled(b, l, w[j]));
		}
		for (uint32_t k = 0; !parts[i].mixed && k < x->n; k++) {
			const Monomial *t = &x->at[k].at;
			if (t->group != parts[i].group || t->result != parts[i].result || degree(t) != m)
				continue;
			Ref l = m ? REF_NONE : g->primal[t->result];
			for (uint32_t v = 0; v < g->nvars; v++)
				if (t->e[v]) l = expansion_coef(axis_of(g, v), t->result, t->e[v]);
			if (l != REF_NONE) sum = plus(b, sum, scaled(b, l, x->at[k].by));
		}
	}
	return sum == REF_NONE ? build_zeros(b, type) : sum;
}

static Fn *other_form(MixedPartialsPass *p) {
	Fn *f = p->flat;
	p->b = build_begin(p->c, f->name, f->span, f);
	p->map = refmap_new(p->b, f, true);
	for (uint32_t k = 0; k < fn_nparams(f); k++) {
		const Ref r = fn_param(f, k);
		refmap_set(&p->map, r, build_param(p->b, ref_type(f, r), f->vals.at[REF_INDEX(r)].name));
	}
	const Region top = f->regions.at[0];
	for (uint32_t i = 0; i < top.ninsts; i++) {
		const Inst *in = &f->insts.at[f->inst_order.at[top.insts + i]];
		const JetChain *ch = chain_at(p, in);
		build_at(p->b, in->span);
		build_chain(p->b, in->chain);
		if (ch && !p->groups.at[ch->group].emitted) emit_expansions(p, &p->groups.at[ch->group]);
		const bool sums = ch || (in->nresults == 1 && p->form[in->results]);
		if (!sums) build_copy_inst(p->b, &p->map, in);
		for (uint32_t k = 0; sums && k < in->nresults; k++) {
			const Ref r = inst_result(in, k);
			const CoefficientSum *x = p->form[REF_INDEX(r)];
			if (x->leaves)
				refmap_set(&p->map, r,
				           sum_of_form(p, x, refmap_type(p->b, &p->map, ref_type(f, r))));
		}
	}
	Ref *results = ARENA_ARRAY(p->scratch, Ref, fn_nresults(f) + 1);
	for (uint32_t k = 0; k < fn_nresults(f); k++)
		results[k] = refmap_get(p->b, &p->map, fn_result(f, k));
	return build_end(p->b, fn_nresults(f), results);
}

static void describe(const MixedPartialsPass *p, char *out, size_t cap) {
	size_t n = 0;
	out[0] = 0;
	for (uint32_t i = 0; i < p->groups.n; i++) {
		const JetGroup *g = &p->groups.at[i];
		for (uint32_t k = 0; !g->bad && k < g->ndirs; k++) {
			const Direction *d = &g->dirs[k];
			if (!d->order || n >= cap) continue;
			n += (size_t)snprintf(out + n, cap - n, "%s(", n ? ", " : "");
			for (uint32_t v = 0; v < g->nvars && n < cap; v++)
				n += (size_t)snprintf(out + n, cap - n, "%s%.4g", v ? ", " : "", d->d[v]);
			if (n < cap) n += (size_t)snprintf(out + n, cap - n, ") to order %u", d->order);
		}
	}
}

static void run_mixed_partials(Ctx *c, void *arg) {
	MixedPartialsPass *p = arg;
	p->flat = fn_inline_calls_with(c, p->f, keep_nested_jets, p);
	if (!p->flat) {
		p->flat = p->f;
		fn_ref(p->f);
	}
	const Region *top = &p->flat->regions.at[0];
	bool mixed = false;
	for (uint32_t i = 0; i < top->ninsts; i++) {
		JetChain ch;
		if (!read_chain(p, &p->flat->insts.at[p->flat->inst_order.at[top->insts + i]], &ch))
			continue;
		VEC_PUSH(p->scratch, &p->chains, ch);
		mixed |= ch.n > 1;
	}
	if (!mixed) return;
	gather_groups(p);
	if (find_forms(p) && plan_groups(p)) p->made = other_form(p);
}

Fn *expand_mixed_partials(Ctx *c, Fn *f, Arena *scratch, char *note, size_t cap) {
	MixedPartialsPass p = {.c = c, .f = f, .scratch = scratch};
	const uint32_t mark = build_mark(c), diags = diag_total(c);
	const Status st = ctx_protect(c, run_mixed_partials, &p);
	if (st != ST_OK) {
		build_unwind(c, mark);
		diag_truncate(c, diags);
		p.made = NULL;
	}
	if (p.made) describe(&p, note, cap);
	if (p.flat) fn_unref(p.flat);
	/* The result is kept, so an interrupt must not choose the other form. */
	if (st != ST_OK) ctx_poll_throw(c);
	return p.made;
}
