/* residual.c - lowering of problem blocks: a function on jet space for each
 * equation.
 *
 * Needs: problem.h.
 *
 * Method: the derivative of an expression is its total derivative on jet space:
 * D_x F = dF/dx + sum over jets of dF/du_J u_{J+x} (Olver, Applications of Lie
 * Groups to Differential Equations, 2.3), which is one forward derivative of F.
 * The operators of vector calculus consist of such derivatives.
 *
 * Contract:
 * - An equation becomes left - right as a function of the coordinates and the
 *   jets at one point. It knows nothing of grids or networks.
 * - The jets are the fields and derivatives that any equation of the problem
 *   needs, in one fixed order.
 */
#include "parser/problem/problem.h"

#include <stdio.h>

typedef struct ProblemScope {
	const Layout *l;
	Av *const *coords;
	Av *const *jets;
	Av *self; /* the problem value */
	uint32_t location;
	Av *normal; /* on a part of a region's boundary: the outer normal as a tuple; else NULL */
	/* Derivatives whose values are passed in, as problem_given writes them;
	 * NULL: none. */
	const char *given;
	Av *const *values; /* their values */
} ProblemScope;

/* ---- names inside an equation -------------------------------------------- */

Av *sp_problem_name(Sp *sp, const Ast *e) {
	const ProblemScope *p = sp->problem;
	const Atom name = e->name.name;
	Av *v = env_find(sp->env, name);
	if (v) return v;
	const int coord = coord_index(p->l, name);
	if (coord >= 0) return p->coords[coord];
	JetVariable j;
	if (jet_of_name(sp->c, p->l, name, &j)) {
		const int at = jet_find(p->l, &j);
		if (at < 0)
			sp_fail(sp, E_INTERNAL, e->span, "the jet %s is not laid out", atom_text(sp->c, name));
		return p->jets[at];
	}
	return sp_lookup(sp, name, e->span);
}

static Av *number_text(Sp *sp, uint32_t n) { return av_string(sp, arena_printf(sp->a, "%u", n)); }

static uint32_t number_of(Sp *sp, const Av *v) {
	uint32_t n = 0;
	for (const char *t = atom_text(sp->c, v->text); *t; t++) n = n * 10 + (uint32_t)(*t - '0');
	return n;
}

/* ---- places in a problem ------------------------------------------------- */

/* A function of a problem's expression names it by its number among the
 * problem's nodes. Unlike a number of the session, it means the same in a
 * session that loads the function from a file. */
struct node_search {
	const Ast *wanted, *found; /* wanted NULL: the node `number` */
	uint32_t number, n;
};

static void node_visit(void *ud, const Ast *e) {
	struct node_search *s = ud;
	if (s->found) return;
	if (s->wanted ? e == s->wanted : s->n == s->number) {
		s->found = e;
		return;
	}
	s->n++;
	ast_children(e, node_visit, s);
}

static const char *node_name(Sp *sp, const Av *problem, const Ast *e) {
	struct node_search s = {.wanted = e};
	node_visit(&s, problem->code);
	if (!s.found) sp_fail(sp, E_INTERNAL, e->span, "an expression outside its problem");
	return arena_printf(sp->a, "n%u", s.n);
}

static const Ast *node_named(Sp *sp, const Av *problem, const char *name) {
	struct node_search s = {0};
	if (problem->kind == AV_PROBLEM && sscanf(name, "n%u", &s.number) == 1)
		node_visit(&s, problem->code);
	if (!s.found)
		sp_fail(sp, E_VALUE, NO_SPAN,
		        "this function of a problem was saved by an earlier version of Atled, which "
		        "did not say what it computes; solve the problem again");
	return s.found;
}

Av *problem_expression(Sp *sp, Av *problem, const Ast *e, uint32_t location, Av *normal) {
	return av_builtin(sp, "_problem_expr", normal ? 4 : 3,
	                  (Av *[]){problem, av_string(sp, node_name(sp, problem, e)),
	                           number_text(sp, location), normal});
}

Av *problem_body(Sp *sp, Av *problem, const Ast *block) {
	return av_builtin(sp, "_problem_body", 3,
	                  (Av *[]){problem, av_string(sp, node_name(sp, problem, block)),
	                           number_text(sp, LOCATION_INSIDE)});
}

Av *problem_given(Sp *sp, Av *problem, const Ast *e, uint32_t n, const Handed *given) {
	const char *text = "";
	for (uint32_t i = 0; i < n; i++)
		text = arena_printf(sp->a, "%s%s %u %u ", text, node_name(sp, problem, given[i].operand),
		                    given[i].coord, given[i].order);
	Av *captured[] = {problem, av_string(sp, node_name(sp, problem, e)),
	                  number_text(sp, LOCATION_INSIDE), av_string(sp, text)};
	return av_builtin(sp, "_problem_expr", 4, captured);
}

Av *problem_total(Sp *sp, Av *problem, const Handed *d) {
	Av *f = problem_expression(sp, problem, d->operand, LOCATION_INSIDE, NULL);
	for (uint32_t k = 0; k < d->order; k++)
		f = av_builtin(sp, "_total", 3, (Av *[]){problem, f, number_text(sp, d->coord)});
	return f;
}

/* The value that is passed in for the derivative of e of this order in each
 * coordinate, or NULL. */
static Av *given_value(Sp *sp, const Ast *e, const uint8_t *order) {
	const char *p = sp->problem->given;
	for (uint32_t i = 0; p && *p; i++) {
		char operand[16];
		unsigned coord, times;
		int n = 0;
		if (sscanf(p, "%15s %u %u %n", operand, &coord, &times, &n) != 3) return NULL;
		bool same = node_named(sp, sp->problem->self, operand) == e;
		for (uint32_t k = 0; k < MAX_COORDS; k++) same &= order[k] == (k == coord ? times : 0);
		if (same) return sp->problem->values[i];
		p += n;
	}
	return NULL;
}

/* ---- derivatives --------------------------------------------------------- */

/* The derivative of e of the given order in each coordinate. */
static Av *derived(Sp *sp, const Ast *e, const uint8_t *order, Span at) {
	const ProblemScope *p = sp->problem;
	const Layout *l = p->l;
	JetVariable j;
	Av *given = given_value(sp, e, order);
	if (given) return given;
	if (is_jet(sp->c, l, e, &j)) {
		for (uint32_t i = 0; i < MAX_COORDS; i++) j.order[i] = (uint8_t)(j.order[i] + order[i]);
		const int k = jet_find(l, &j);
		if (k >= 0) return p->jets[k];
	}
	Av *f = problem_expression(sp, p->self, e, p->location, p->normal);
	/* Each application is a function of the same arguments. */
	for (uint32_t i = 0; i < l->ncoords; i++)
		for (uint32_t k = 0; k < order[i]; k++)
			f = av_builtin(sp, "_total", 3, (Av *[]){p->self, f, number_text(sp, i)});
	Av *args[2] = {av_seq(sp, AV_TUPLE, l->ncoords, p->coords),
	               av_seq(sp, AV_TUPLE, l->njets, p->jets)};
	return sp_call_args(sp, f, 2, args, at);
}

static Av *derived_by(Sp *sp, const Ast *e, uint32_t coord, uint32_t order, Span at) {
	uint8_t orders[MAX_COORDS] = {0};
	orders[coord] = (uint8_t)order;
	return derived(sp, e, orders, at);
}

static Av *added(Sp *sp, AstOp op, Av *x, Av *y, Span at) {
	return x ? sp_binary(sp, op, x, y, at, at, at) : y;
}
static Av *times(Sp *sp, Av *x, Av *y, Span at) { return sp_binary(sp, AO_MUL, x, y, at, at, at); }
static uint32_t rank_of(Sp *sp, const Av *v) {
	return v->kind == AV_ARRAY ? ref_ty(build_fn(sp->b), v->ref)->rank : 0;
}

/* Stacks parts along a new last axis. */
static Av *joined(Sp *sp, uint32_t n, Av *const *parts, Span at) {
	const uint32_t rank = rank_of(sp, parts[0]);
	if (!rank) return sp_stack(sp, n, parts, at);
	Span spans[MAX_COORDS];
	for (uint32_t i = 0; i < n; i++) spans[i] = at;
	Atom axis = atom(sp->c, "axis");
	Av *value = av_int(sp, rank);
	CallArguments call = {.span = at,
	                      .callee_span = at,
	                      .n = n,
	                      .args = (Av **)parts,
	                      .spans = spans,
	                      .nnamed = 1,
	                      .names = &axis,
	                      .named = &value,
	                      .named_spans = &at};
	return sp_call(sp, av_builtin(sp, "stack", 0, NULL), &call);
}

/* Component i of an operator's operand, along its last axis. In one dimension a
 * scalar is its own component. */
static Av *component(Sp *sp, const char *what, Av *v, uint32_t i, Span at) {
	const uint32_t rank = rank_of(sp, v), n = sp->problem->l->nspace;
	int64_t length = -1;
	if (v->kind == AV_ARRAY && rank)
		(void)dim_is_const(sp->c, ref_ty(build_fn(sp->b), v->ref)->dims[rank - 1], &length);
	if (!rank && n == 1) return v;
	if (length != n)
		sp_fail(
			sp, E_SHAPE, at,
			"%s takes a vector with a component for each of the %u space coordinates; this is %s",
			what, n, rank ? sp_type_text(sp, v) : "a number");
	Av *items[2] = {av_none(sp), av_int(sp, i)};
	Span spans[2] = {at, at};
	return sp_index_values(sp, v, rank > 1 ? 2 : 1, rank > 1 ? items : items + 1, spans, at);
}

static Av *curl_of(Sp *sp, const Ast *e, Span at) {
	const Layout *l = sp->problem->l;
	Av *d[3] = {0};
	for (uint32_t i = 0; i < l->nspace && l->nspace <= 3; i++)
		d[i] = derived_by(sp, e, l->space[i], 1, at);
	if (l->nspace == 2 && !rank_of(sp, d[0])) /* curl of a stream function */
		return sp_stack(sp, 2, (Av *[]){d[1], sp_unary(sp, AO_NEG, d[0], at)}, at);
	if (l->nspace == 2)
		return added(sp, AO_SUB, component(sp, "curl", d[0], 1, at),
		             component(sp, "curl", d[1], 0, at), at);
	if (l->nspace != 3)
		sp_fail(sp, E_PROBLEM_COORD, at, "curl needs two or three space coordinates; there %s %u",
		        l->nspace == 1 ? "is" : "are", l->nspace);
	Av *out[3];
	for (uint32_t k = 0; k < 3; k++) {
		const uint32_t i = (k + 1) % 3, j = (k + 2) % 3;
		out[k] = added(sp, AO_SUB, component(sp, "curl", d[i], j, at),
		               component(sp, "curl", d[j], i, at), at);
	}
	return joined(sp, 3, out, at);
}

/* ∂n(e): the signed derivative on a box, n·grad(e) on a region. */
static Av *normal_derivative(Sp *sp, const DerivativeForm *d, Span at) {
	const ProblemScope *p = sp->problem;
	const Layout *l = p->l;
	if (location_kind(p->location) == LOCATION_FACE) {
		Av *v = derived_by(sp, d->operand, location_coord(p->location), d->order, at);
		return location_side(p->location) || d->order % 2 == 0 ? v : sp_unary(sp, AO_NEG, v, at);
	}
	if (location_kind(p->location) != LOCATION_PART || !p->normal)
		sp_fail(sp, E_PROBLEM_COORD, at,
		        "∂n is a derivative along the outer normal, which there is on a boundary only");
	if (d->order > 2)
		sp_fail(sp, E_PROBLEM, at, "on the boundary of a region ∂n is of order 1 or 2");
	if (p->normal->n != l->nspace)
		sp_fail(sp, E_INTERNAL, at, "a normal with %u components", p->normal->n);
	Av *sum = NULL;
	for (uint32_t i = 0; i < l->nspace; i++)
		for (uint32_t k = 0; k < (d->order == 2 ? l->nspace : 1); k++) {
			uint8_t order[MAX_COORDS] = {0};
			order[l->space[i]]++;
			Av *by = p->normal->items[i];
			if (d->order == 2) {
				order[l->space[k]]++;
				by = times(sp, by, p->normal->items[k], at);
			}
			sum = added(sp, AO_ADD, sum, times(sp, by, derived(sp, d->operand, order, at), at), at);
		}
	return sum;
}

static Av *derivative(Sp *sp, const DerivativeForm *d, Span at) {
	const Layout *l = sp->problem->l;
	static const char *const names[] = {
		"", "", "", "a gradient", "a divergence", "a curl", "a Laplacian", "a gradient"};
	if (d->kind != DER_BY && d->kind != DER_NORMAL && !l->nspace)
		sp_fail(sp, E_PROBLEM_COORD, at, "%s needs a space coordinate", names[d->kind]);
	Av *parts[MAX_COORDS], *sum = NULL;
	switch (d->kind) {
	case DER_BY: return derived_by(sp, d->operand, d->coord, d->order, at);
	case DER_NORMAL: return normal_derivative(sp, d, at);
	case DER_CURL: return curl_of(sp, d->operand, at);
	case DER_GRAD:
		for (uint32_t i = 0; i < l->nspace; i++)
			parts[i] = derived_by(sp, d->operand, l->space[i], 1, at);
		return joined(sp, l->nspace, parts, at);
	case DER_DIV:
		for (uint32_t i = 0; i < l->nspace; i++)
			sum = added(sp, AO_ADD, sum,
			            component(sp, "div", derived_by(sp, d->operand, l->space[i], 1, at), i, at),
			            at);
		return sum;
	case DER_LAP:
		for (uint32_t i = 0; i < l->nspace; i++)
			sum = added(sp, AO_ADD, sum, derived_by(sp, d->operand, l->space[i], 2, at), at);
		return sum;
	case DER_ALONG: {
		Av *a = sp_expr(sp, d->along);
		for (uint32_t i = 0; i < l->nspace; i++)
			sum = added(sp, AO_ADD, sum,
			            times(sp, component(sp, "a·grad", a, i, d->along->span),
			                  derived_by(sp, d->operand, l->space[i], 1, at), at),
			            at);
		return sum;
	}
	case DER_NONE: break;
	}
	sp_fail(sp, E_INTERNAL, at, "no derivative");
}

/* grad(V)(x) of a function V has the same meaning as outside of problems. */
static bool is_function(Sp *sp, const Ast *e) {
	JetVariable j;
	if (e->kind != A_NAME || coord_index(sp->problem->l, e->name.name) >= 0 ||
	    is_jet(sp->c, sp->problem->l, e, &j))
		return e->kind == A_LAMBDA;
	const Ast *local = local_named(sp->problem->l, e->name.name);
	if (local) return local->kind == A_DEF;
	const Av *v = sp_try_lookup(sp, e->name.name);
	return v && v->kind == AV_FUNCTION;
}

Av *sp_special_call(Sp *sp, const Ast *e) {
	if (!sp->problem) return NULL;
	const DerivativeForm d = derivative_of(sp->c, sp->problem->l, e);
	if (d.kind != DER_NONE && !is_function(sp, d.operand)) return derivative(sp, &d, e->span);
	if (e->kind == A_PRIME && is_prime_unclear(sp->c, sp->problem->l, e)) sp_throw(sp);
	if (d.kind == DER_NONE && e->kind == A_CALL && e->call.callee->kind == A_NAME &&
	    e->call.n >= 2 && !strcmp(atom_text(sp->c, e->call.callee->name.name), "d") &&
	    !local_named(sp->problem->l, e->call.callee->name.name) &&
	    !env_find(sp->env, e->call.callee->name.name)) {
		const Ast *by = e->call.args[1].value;
		if (by->kind == A_NAME && coord_index(sp->problem->l, by->name.name) >= 0)
			sp_fail(sp, E_PROBLEM, e->call.args[e->call.n - 1].span,
			        "the order of a derivative is a number from 1 to 16");
		sp_fail(sp, E_PROBLEM_COORD, e->call.args[1].span,
		        "a derivative is by a coordinate of the problem");
	}
	return NULL;
}

/* ---- evaluation ---------------------------------------------------------- */

/* Marks the local definitions that e mentions, directly or through others. */
typedef struct Mentions {
	const Layout *l;
	bool *wanted;
} Mentions;

static void mention_visit(void *ud, const Ast *e) {
	Mentions *m = ud;
	if (e->kind != A_NAME) {
		ast_children(e, mention_visit, m);
		return;
	}
	for (uint32_t i = 0; i < m->l->e->problem->nlocals; i++) {
		const Ast *local = m->l->e->problem->locals[i];
		const Atom name =
			local->kind == A_DEF ? local->function.name : local->assign.target->name.name;
		if (name != e->name.name || m->wanted[i]) continue;
		m->wanted[i] = true;
		mention_visit(m, local->kind == A_DEF ? local->function.body : local->assign.value);
	}
}

/* Makes a Sp whose names are those of the problem at given coordinates and
 * jets. Evaluates the local definitions that e needs, in order. */
static void enter(Sp *outer, Sp *sp, ProblemScope *scope, Layout *l, Av *problem,
                  const CallArguments *call, uint32_t location, Av *normal, const char *given,
                  Av *const *values, const Ast *e) {
	*sp = *outer;
	Av *coords = call->args[0], *jets = call->args[1];
	layout_of(sp->c, l, problem->code);
	sp->env = env_new(sp, NULL);
	sp->module = session_module_of(sp->session, l->e->span.source);
	sp->self = problem;
	if (coords->n != l->ncoords || jets->n != l->njets)
		sp_fail(sp, E_INTERNAL, l->e->span, "wrong number of coordinates or jets");
	/* By name as well, so that closures capture them by value. */
	for (uint32_t i = 0; i < l->ncoords; i++)
		env_set(sp, sp->env, l->coord[i].name, coords->items[i]);
	for (uint32_t i = 0; i < l->njets; i++)
		env_set(sp, sp->env, jet_name(sp->c, l, &l->jets[i]), jets->items[i]);
	for (uint32_t i = 0; i < problem->n; i++)
		env_set(sp, sp->env, problem->names[i], problem->items[i]);
	*scope = (ProblemScope){.l = l,
	                        .coords = coords->items,
	                        .jets = jets->items,
	                        .self = problem,
	                        .location = location,
	                        .normal = normal,
	                        .given = given,
	                        .values = values};
	sp->problem = scope;
	const Atom n = atom(sp->c, "normal");
	if (location_kind(location) == LOCATION_FACE && !env_find(sp->env, n)) {
		Av *parts[MAX_COORDS];
		for (uint32_t i = 0; i < l->nspace; i++) {
			const double x = l->space[i] != location_coord(location) ? 0
			                 : location_side(location)               ? 1
			                                                         : -1;
			parts[i] = av_array(sp, sp_const(sp, value_f64(x)));
		}
		env_set(sp, sp->env, n, sp_stack(sp, l->nspace, parts, l->e->span));
	} else if (normal && !env_find(sp->env, n))
		env_set(sp, sp->env, n, sp_stack(sp, normal->n, normal->items, l->e->span));
	Mentions m = {l, ARENA_ARRAY(sp->a, bool, l->e->problem->nlocals + 1)};
	memset(m.wanted, 0, l->e->problem->nlocals + 1);
	mention_visit(&m, e);
	for (uint32_t i = 0; i < l->e->problem->nlocals; i++)
		if (m.wanted[i]) sp_expr(sp, l->e->problem->locals[i]);
}

/* Enters the problem captured[0] and returns the expression of number
 * captured[1]. */
static const Ast *enter_kept(Sp *sp, Sp *inner, ProblemScope *scope, Layout *l, uint32_t ncaptured,
                             Av *const *captured, const CallArguments *call) {
	const Ast *e = node_named(sp, captured[0], atom_text(sp->c, captured[1]->text));
	const char *given = ncaptured > 3 && captured[3]->kind == AV_STRING
	                        ? atom_text(sp->c, captured[3]->text)
	                        : NULL;
	Av *normal = given ? NULL : ncaptured > 3 ? captured[3] : call->n > 2 ? call->args[2] : NULL;
	Av *const *values = NULL;
	if (given) {
		uint32_t n;
		Av **items;
		if (call->n != 3 || !sp_static_items(sp, call->args[2], &n, &items))
			sp_fail(sp, E_TYPE, call->span, "values of derivatives are a tuple");
		values = items;
	}
	if (normal && normal->kind != AV_TUPLE && normal->kind != AV_LIST) {
		uint32_t n;
		Av **items;
		if (!sp_static_items(sp, normal, &n, &items))
			sp_fail(sp, E_TYPE, call->span, "a normal is a tuple");
		normal = av_seq(sp, AV_TUPLE, n, items);
	}
	enter(sp, inner, scope, l, captured[0], call, number_of(sp, captured[2]), normal, given, values,
	      e);
	return e;
}

/* _problem_expr(problem, expression, location[, normal])(coords, jets[,
 * normal]); _problem_expr(problem, expression, location, given)(coords, jets,
 * values). */
BUILTIN(problem_expr) {
	(void)self;
	Sp inner;
	ProblemScope scope;
	Layout *l = ARENA_NEW(sp->a, Layout);
	const Ast *e = enter_kept(sp, &inner, &scope, l, ncaptured, captured, call);
	if (e->kind != A_EQUATION) return sp_expr(&inner, e);
	Av *left = sp_expr(&inner, e->equation.left), *right = sp_expr(&inner, e->equation.right);
	sp_at(sp, e->span);
	return sp_binary(&inner, AO_SUB, left, right, e->span, e->equation.left->span,
	                 e->equation.right->span);
}

/* _problem_body(problem, block, location)(coords, jets): the jets after an
 * event, none for those that it leaves unchanged. */
BUILTIN(problem_body_of) {
	(void)self;
	Sp inner;
	ProblemScope scope;
	Layout *l = ARENA_NEW(sp->a, Layout);
	const Ast *e = enter_kept(sp, &inner, &scope, l, ncaptured, captured, call);
	Av **out = ARENA_ARRAY(sp->a, Av *, l->njets + 1);
	sp_block(&inner, e->block.n, e->block.items, false);
	for (uint32_t i = 0; i < l->njets; i++) {
		out[i] = env_find(inner.env, jet_name(sp->c, l, &l->jets[i]));
		if (out[i] == call->args[1]->items[i]) out[i] = av_none(sp);
	}
	return av_seq(sp, AV_TUPLE, l->njets, out);
}

/* _total(problem, f, coordinate)(coords, jets): the total derivative of f. */
BUILTIN(total) {
	UNUSED;
	Layout *l = ARENA_NEW(sp->a, Layout);
	layout_of(sp->c, l, captured[0]->code);
	const uint32_t coord = number_of(sp, captured[2]);
	Av *coords = call->args[0], *jets = call->args[1];
	Av **dc = ARENA_ARRAY(sp->a, Av *, l->ncoords + 1),
	   **dj = ARENA_ARRAY(sp->a, Av *, l->njets + 1);
	for (uint32_t i = 0; i < l->ncoords; i++)
		dc[i] = av_array(sp, build_full(sp->b, ref_type(build_fn(sp->b), coords->items[i]->ref),
		                                i == coord ? 1 : 0));
	for (uint32_t i = 0; i < l->njets; i++) {
		JetVariable next = l->jets[i];
		next.order[coord]++;
		const int at = jet_find(l, &next);
		/* A jet whose successor is not in the layout does not occur under the
		 * derivative. An eigenvalue is constant. */
		dj[i] =
			at >= 0
				? jets->items[at]
				: av_array(sp, build_zeros(sp->b, ref_type(build_fn(sp->b), jets->items[i]->ref)));
	}
	Av *x = av_seq(sp, AV_TUPLE, 2, (Av *[]){coords, jets});
	Av *dx =
		av_seq(sp, AV_TUPLE, 2,
	           (Av *[]){av_seq(sp, AV_TUPLE, l->ncoords, dc), av_seq(sp, AV_TUPLE, l->njets, dj)});
	Av *f = av_builtin(sp, "_spread", 1, (Av *[]){captured[1]});
	Av *both = sp_call_args(sp, av_builtin(sp, "jvp", 0, NULL), 3, (Av *[]){f, x, dx}, call->span);
	return both->items[1];
}

/* _given_first()(coords, jets, values): the first value, for a flux that is
 * only a derivative. */
BUILTIN(given_first) {
	UNUSED;
	uint32_t n;
	Av **items;
	if (!sp_static_items(sp, call->args[2], &n, &items) || !n)
		sp_fail(sp, E_TYPE, call->span, "values of derivatives are a tuple");
	return items[0];
}

/* _given_factor(f, k)(coords, jets, values, directions): the derivative of f
 * with respect to the k-th value, along the k-th direction. */
BUILTIN(given_factor) {
	UNUSED;
	uint32_t n, m;
	Av **values, **along;
	const uint32_t which = number_of(sp, captured[1]);
	if (!sp_static_items(sp, call->args[2], &n, &values) ||
	    !sp_static_items(sp, call->args[3], &m, &along) || n != m || which >= n)
		sp_fail(sp, E_TYPE, call->span, "values of derivatives are a tuple");
	const Fn *fn = build_fn(sp->b);
	Av *still[2];
	for (uint32_t g = 0; g < 2; g++) {
		const Av *of = call->args[g];
		Av **zeros = ARENA_ARRAY(sp->a, Av *, of->n + 1);
		for (uint32_t i = 0; i < of->n; i++)
			zeros[i] = av_array(sp, build_zeros(sp->b, ref_type(fn, of->items[i]->ref)));
		still[g] = av_seq(sp, AV_TUPLE, of->n, zeros);
	}
	Av **moves = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		moves[i] =
			i == which ? along[i] : av_array(sp, build_zeros(sp->b, ref_type(fn, values[i]->ref)));
	Av *x = av_seq(sp, AV_TUPLE, 3,
	               (Av *[]){call->args[0], call->args[1], av_seq(sp, AV_TUPLE, n, values)});
	Av *dx = av_seq(sp, AV_TUPLE, 3, (Av *[]){still[0], still[1], av_seq(sp, AV_TUPLE, n, moves)});
	Av *both = sp_call_args(sp, av_builtin(sp, "jvp", 0, NULL), 3,
	                        (Av *[]){av_builtin(sp, "_spread", 1, (Av *[]){captured[0]}), x, dx},
	                        call->span);
	return both->items[1];
}

/* ---- problems as values -------------------------------------------------- */

Av *problem_bound(Sp *sp, Av *p, Span at) {
	if (p->kind != AV_PROBLEM)
		sp_fail(sp, E_TYPE, at, "a problem is wanted, not %s", sp_type_text(sp, p));
	const Ast *e = p->code;
	for (uint32_t i = 0; i < e->problem->nparams; i++) {
		bool found = false;
		for (uint32_t k = 0; k < p->n; k++) found |= p->names[k] == e->problem->params[i].name;
		if (!found) return sp_call_args(sp, p, 0, NULL, at);
	}
	return p;
}

BUILTIN(problem_info) {
	UNUSED;
	/* A problem that the library derives from another one brings its
	 * description: manufacture() in verification.dsl. */
	Av *made =
		call->args[0]->kind == AV_RECORD ? av_field(call->args[0], atom(sp->c, "statement")) : NULL;
	if (made && made->kind == AV_RECORD) return made;
	return problem_reflect(sp, problem_bound(sp, call->args[0], call->spans[0]));
}

/* _parameters(problem): its parameters with their values, as a record. */
BUILTIN(parameters) {
	UNUSED;
	const Av *p = problem_bound(sp, call->args[0], call->spans[0]);
	const Ast *e = p->code;
	const uint32_t n = e->problem->nparams;
	Atom *names = ARENA_ARRAY(sp->a, Atom, n + 1);
	Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		names[i] = e->problem->params[i].name;
		for (uint32_t k = 0; k < p->n; k++)
			if (p->names[k] == names[i]) items[i] = p->items[k];
	}
	return av_record(sp, n, names, items);
}

Av *sp_problem_value(Sp *sp, const Ast *e) {
	session_check_problem(sp->session, sp->module, sp->env, e);
	Atom *free_names;
	uint32_t nfree;
	ast_free_names(sp, e, &free_names, &nfree);
	VEC_ATOMS names = {0};
	VEC_AVS items = {0};
	for (uint32_t i = 0; i < nfree; i++) {
		Av *v = env_find(sp->env, free_names[i]);
		if (!v || v->kind == AV_UNSET || free_names[i] == e->problem->name) continue;
		VEC_PUSH(sp->a, &names, free_names[i]);
		VEC_PUSH(sp->a, &items, av_named(sp, v));
	}
	Av *r = av_function(sp, CODE_AST, e->id, e, e->problem->name, names.n, names.at, items.at);
	r->kind = AV_PROBLEM;
	return r;
}

const Builtin builtins_problem[] = {
	{.name = "_parameters", .min_args = 1, .max_args = 1, .run = parameters},
	{.name = "_problem_info", .min_args = 1, .max_args = 1, .run = problem_info},
	{.name = "_problem_body", .min_args = 2, .max_args = 2, .run = problem_body_of},
	{.name = "_problem_expr", .min_args = 2, .max_args = 3, .run = problem_expr},
	{.name = "_given_first", .min_args = 3, .max_args = 3, .run = given_first},
	{.name = "_given_factor", .min_args = 4, .max_args = 4, .run = given_factor},
	{.name = "_total", .min_args = 2, .max_args = 2, .run = total},
	{.name = NULL},
};
