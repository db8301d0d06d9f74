/* problem.c - problem blocks: a function on jet space for each equation, and the checks of a statement.
 *
 * Needs: spec.h. Guarantees: an equation becomes left - right as a function of the coordinates and of the jets (the fields and their derivatives
 * that any equation of the problem needs, in one fixed order), knowing nothing of grids or networks. A derivative of an expression is its
 * total derivative on jet space: D_x F = dF/dx + sum over jets of dF/du_J u_{J+x} (Olver, Applications of Lie Groups to Differential
 * Equations, 2.3), which is one forward derivative of F.
 */
#include "parser/builtins.h"
#include "parser/structure.h"

#define MAX_COORDS 8
#define MAX_JETS 64


typedef struct Jet {
	uint32_t field;
	uint8_t order[MAX_COORDS]; /* by coordinate */
} Jet;

/* The syntax of a problem, digested. */
typedef struct Layout {
	const Ast *e;
	uint32_t ncoords;
	Atom coord[MAX_COORDS];
	Span coord_span[MAX_COORDS];
	const Domain *domain[MAX_COORDS];
	uint32_t njets;
	Jet jets[MAX_JETS];
} Layout;

typedef struct ProblemScope {
	const Layout *l;
	Av *const *coords;
	Av *const *jets;
	Av *self; /* the problem value */
} ProblemScope;

/* ---- layout -------------------------------------------------------------------------------------------------------------------------- */

static int coord_index(const Layout *l, Atom name) {
	for (uint32_t i = 0; i < l->ncoords; i++)
		if (l->coord[i] == name) return (int)i;
	return -1;
}

static int field_index(const Layout *l, Atom name) {
	for (uint32_t i = 0; i < l->e->problem->nfields; i++)
		if (l->e->problem->fields[i].name == name) return (int)i;
	return -1;
}

/* u, u_t, u_xx: the field and how often it is derived by each coordinate. */
static bool jet_of_name(Ctx *c, const Layout *l, Atom name, Jet *jet) {
	memset(jet, 0, sizeof *jet);
	int f = field_index(l, name);
	if (f >= 0) {
		jet->field = (uint32_t)f;
		return true;
	}
	const char *text = atom_text(c, name);
	for (uint32_t i = 0; i < l->e->problem->nfields; i++) {
		const char *field = atom_text(c, l->e->problem->fields[i].name);
		size_t n = strlen(field);
		if (strncmp(text, field, n) || text[n] != '_' || !text[n + 1]) continue;
		const char *p = text + n + 1;
		memset(jet, 0, sizeof *jet);
		jet->field = i;
		while (*p) {
			size_t best = 0;
			int which = -1;
			for (uint32_t k = 0; k < l->ncoords; k++) {
				const char *coord = atom_text(c, l->coord[k]);
				size_t m = strlen(coord);
				if (m > best && !strncmp(p, coord, m)) {
					best = m;
					which = (int)k;
				}
			}
			if (which < 0) break;
			jet->order[which]++;
			p += best;
		}
		if (!*p) return true;
	}
	return false;
}

static void add_jet(Layout *l, const Jet *j) {
	for (uint32_t i = 0; i < l->njets; i++)
		if (l->jets[i].field == j->field && !memcmp(l->jets[i].order, j->order, sizeof j->order)) return;
	if (l->njets < MAX_JETS) l->jets[l->njets++] = *j;
}

typedef struct Needs {
	Ctx *c;
	Layout *l;
	uint8_t shift[MAX_COORDS];
	uint32_t depth;
} Needs;

/* The jet and, for a shifted one, those the product rule passes through. */
static void need_jet(Needs *n, const Jet *j) {
	uint8_t k[MAX_COORDS] = {0};
	for (;;) {
		Jet one = *j;
		for (int i = 0; i < MAX_COORDS; i++) one.order[i] = (uint8_t)(one.order[i] + k[i]);
		add_jet(n->l, &one);
		int i = 0;
		while (i < MAX_COORDS && k[i] == n->shift[i]) k[i++] = 0;
		if (i == MAX_COORDS) return;
		k[i]++;
	}
}

static bool derivative_call(Ctx *c, const Layout *l, const Ast *e, const Ast **operand, int *coord, int *order) {
	if (e->kind != A_CALL || e->call.callee->kind != A_NAME || e->call.n < 1) return false;
	const char *name = atom_text(c, e->call.callee->name.name);
	*operand = e->call.args[0].value;
	if (!strcmp(name, "d") && e->call.n >= 2 && e->call.args[1].value->kind == A_NAME) {
		*coord = coord_index(l, e->call.args[1].value->name.name);
		*order = 1;
		if (e->call.n == 3) {
			int64_t k = 0;
			const Ast *o = e->call.args[2].value;
			if (o->kind != A_CONST || !value_as_i64(o->constant.value, &k) || k < 1 || k > 16) return false;
			*order = (int)k;
		}
		return *coord >= 0;
	}
	if (!strcmp(name, "lap") && e->call.n == 1) {
		*coord = -1;
		*order = 2;
		return true;
	}
	return false;
}

static bool is_time(Ctx *c, const Layout *l, uint32_t i) { return !strcmp(atom_text(c, l->coord[i]), "t"); }

static void need_visit(void *ud, const Ast *e) {
	Needs *n = ud;
	if (n->depth > 64) return;
	const Ast *operand;
	int coord, order;
	if (e->kind == A_NAME) {
		Jet j;
		for (uint32_t i = 0; i < n->l->e->problem->nlocals; i++) {
			const Ast *local = n->l->e->problem->locals[i];
			if (local->kind == A_ASSIGN && local->assign.target->kind == A_NAME && local->assign.target->name.name == e->name.name) {
				n->depth++;
				need_visit(n, local->assign.value);
				n->depth--;
				return;
			}
			if (local->kind == A_DEF && local->function.name == e->name.name) {
				n->depth++;
				need_visit(n, local->function.body);
				n->depth--;
				return;
			}
		}
		if (jet_of_name(n->c, n->l, e->name.name, &j)) need_jet(n, &j);
		return;
	}
	if (derivative_call(n->c, n->l, e, &operand, &coord, &order)) {
		if (coord >= 0) {
			n->shift[coord] = (uint8_t)(n->shift[coord] + order);
			need_visit(n, operand);
			n->shift[coord] = (uint8_t)(n->shift[coord] - order);
		} else
			for (uint32_t i = 0; i < n->l->ncoords; i++) {
				if (is_time(n->c, n->l, i)) continue;
				n->shift[i] = (uint8_t)(n->shift[i] + 2);
				need_visit(n, operand);
				n->shift[i] = (uint8_t)(n->shift[i] - 2);
			}
		return;
	}
	ast_children(e, need_visit, n);
}

static void layout_coords(Ctx *c, Layout *l, const Ast *e) {
	memset(l, 0, sizeof *l);
	l->e = e;
	for (uint32_t i = 0; i < e->problem->ndomains; i++)
		for (uint32_t k = 0; k < e->problem->domains[i].ncoords; k++) {
			if (l->ncoords == MAX_COORDS) {
				diag_error(c, E_PROBLEM, e->problem->domains[i].span, "more than %d coordinates", MAX_COORDS);
				ctx_throw(c, ST_ERROR);
			}
			l->coord[l->ncoords] = e->problem->domains[i].coords[k];
			l->coord_span[l->ncoords] = e->problem->domains[i].spans[k];
			l->domain[l->ncoords++] = &e->problem->domains[i];
		}
}

static void layout_of(Ctx *c, Layout *l, const Ast *e) {
	layout_coords(c, l, e);
	for (uint32_t f = 0; f < e->problem->nfields; f++) {
		Jet j = {.field = f};
		add_jet(l, &j);
	}
	Needs n = {.c = c, .l = l};
	for (uint32_t i = 0; i < e->problem->nequations; i++) {
		need_visit(&n, e->problem->equations[i]->equation.left);
		need_visit(&n, e->problem->equations[i]->equation.right);
	}
	for (uint32_t i = 0; i < e->problem->nevents; i++) need_visit(&n, e->problem->events[i].expr);
	if (l->njets == MAX_JETS) {
		diag_error(c, E_PROBLEM, e->problem->name_span, "more than %d different derivatives", MAX_JETS - 1);
		ctx_throw(c, ST_ERROR);
	}
}

/* ---- evaluating inside an equation -------------------------------------------------------------------------------------------------------- */

Av *sp_problem_name(Sp *sp, const Ast *e) {
	const ProblemScope *p = sp->problem;
	Atom name = e->name.name;
	Av *v = env_find(sp->env, name);
	if (v) return v;
	int coord = coord_index(p->l, name);
	if (coord >= 0) return p->coords[coord];
	Jet j;
	if (jet_of_name(sp->c, p->l, name, &j)) {
		for (uint32_t i = 0; i < p->l->njets; i++)
			if (p->l->jets[i].field == j.field && !memcmp(p->l->jets[i].order, j.order, sizeof j.order)) return p->jets[i];
		sp_fail(sp, E_INTERNAL, e->span, "the jet %s is not laid out", atom_text(sp->c, name));
	}
	return sp_lookup(sp, name, e->span);
}

/* u_xt */
static Atom jet_name(Ctx *c, const Layout *l, const Jet *j) {
	const char *text = atom_text(c, l->e->problem->fields[j->field].name);
	bool any = false;
	for (uint32_t k = 0; k < l->ncoords; k++)
		for (uint32_t i = 0; i < j->order[k]; i++, any = true)
			text = arena_printf(ctx_arena(c), any ? "%s%s" : "%s_%s", text, atom_text(c, l->coord[k]));
	return atom(c, text);
}

/* The expression as a function of ((coordinates), (jets)). */
static Av *expression_function(Sp *sp, Av *problem, const Ast *e) {
	return av_builtin(sp, "_problem_expr", 2, (Av *[]){problem, av_string(sp, arena_printf(sp->a, "%u", session_keep_ast(sp->session, e)))});
}

static Av *total_derivative(Sp *sp, const Ast *operand, uint32_t coord, int order, Span at) {
	const ProblemScope *p = sp->problem;
	const Layout *l = p->l;
	Av *f = expression_function(sp, p->self, operand);
	/* order times: each application is a function of the same arguments */
	for (int k = 1; k < order; k++) f = av_builtin(sp, "_total", 3, (Av *[]){p->self, f, av_string(sp, arena_printf(sp->a, "%u", coord))});
	Av *args[2] = {av_seq(sp, AV_TUPLE, l->ncoords, p->coords), av_seq(sp, AV_TUPLE, l->njets, p->jets)};
	return sp_call_args(sp, av_builtin(sp, "_total", 3, (Av *[]){p->self, f, av_string(sp, arena_printf(sp->a, "%u", coord))}), 2, args, at);
}

Av *sp_special_call(Sp *sp, const Ast *e) {
	if (!sp->problem) return NULL;
	const Ast *operand;
	int coord, order;
	if (!derivative_call(sp->c, sp->problem->l, e, &operand, &coord, &order)) {
		if (e->call.callee->kind == A_NAME && !strcmp(atom_text(sp->c, e->call.callee->name.name), "d") && e->call.n >= 2)
			sp_fail(sp, E_PROBLEM_COORD, e->call.args[1].span, "a derivative is by a coordinate of the problem");
		return NULL;
	}
	if (coord >= 0) return total_derivative(sp, operand, (uint32_t)coord, order, e->span);
	Av *sum = NULL;
	for (uint32_t i = 0; i < sp->problem->l->ncoords; i++) {
		if (is_time(sp->c, sp->problem->l, i)) continue;
		Av *one = total_derivative(sp, operand, i, 2, e->span);
		sum = sum ? sp_binary(sp, AO_ADD, sum, one, e->span, e->span, e->span) : one;
	}
	if (!sum) sp_fail(sp, E_PROBLEM_COORD, e->span, "a Laplacian needs a space coordinate");
	return sum;
}

static bool same_text(Ctx *c, const Ast *x, const Ast *y);

#define BUILTIN(fname) static Av *fname(Sp *sp, const Builtin *self, uint32_t ncaptured, Av *const *captured, const Call *call)
#define UNUSED (void)self, (void)ncaptured, (void)captured

/* A Sp whose names are those of the problem, at given coordinates and jets. */
static void enter(Sp *outer, Sp *sp, ProblemScope *scope, Layout *l, Av *problem, Av *coords, Av *jets) {
	*sp = *outer;
	layout_of(sp->c, l, problem->code);
	sp->env = env_new(sp, NULL);
	sp->module = session_module_of(sp->session, l->e->span.source);
	sp->self = problem;
	for (uint32_t i = 0; i < problem->n; i++) env_set(sp, sp->env, problem->names[i], problem->items[i]);
	if (coords->n != l->ncoords || jets->n != l->njets) sp_fail(sp, E_INTERNAL, l->e->span, "wrong number of coordinates or jets");
	*scope = (ProblemScope){l, coords->items, jets->items, problem};
	sp->problem = scope;
	for (uint32_t i = 0; i < l->e->problem->nlocals; i++) {
		const Ast *local = l->e->problem->locals[i];
		if (local->kind == A_DEF) sp_expr(sp, local);
	}
}

/* Local definitions run in order before what needs them. */
static void run_locals(Sp *sp, const Layout *l) {
	for (uint32_t i = 0; i < l->e->problem->nlocals; i++)
		if (l->e->problem->locals[i]->kind == A_ASSIGN) sp_expr(sp, l->e->problem->locals[i]);
}

static uint32_t number_of(Sp *sp, const Av *v) {
	uint32_t n = 0;
	for (const char *t = atom_text(sp->c, v->text); *t; t++) n = n * 10 + (uint32_t)(*t - '0');
	return n;
}

BUILTIN(problem_expr) {
	UNUSED;
	Sp inner;
	ProblemScope scope;
	Layout *l = ARENA_NEW(sp->a, Layout);
	enter(sp, &inner, &scope, l, captured[0], call->args[0], call->args[1]);
	const Ast *e = session_kept_ast(sp->session, number_of(sp, captured[1]));
	run_locals(&inner, l);
	if (e->kind == A_BLOCK) {
		/* an event's body: the fields and their derivatives after it, where it gives them a value */
		Atom *names = ARENA_ARRAY(sp->a, Atom, l->njets + 1);
		Av **out = ARENA_ARRAY(sp->a, Av *, l->njets + 1);
		for (uint32_t i = 0; i < l->njets; i++) {
			names[i] = jet_name(sp->c, l, &l->jets[i]);
			env_set(&inner, inner.env, names[i], call->args[1]->items[i]);
		}
		sp_block(&inner, e->block.n, e->block.items, false);
		for (uint32_t i = 0; i < l->njets; i++) {
			out[i] = env_find(inner.env, names[i]);
			if (out[i] == call->args[1]->items[i]) out[i] = av_none(sp);
		}
		return av_seq(sp, AV_TUPLE, l->njets, out);
	}
	if (e->kind != A_EQUATION) return sp_expr(&inner, e);
	Av *left = sp_expr(&inner, e->equation.left), *right = sp_expr(&inner, e->equation.right);
	sp_at(sp, e->span);
	return sp_binary(&inner, AO_SUB, left, right, e->span, e->equation.left->span, e->equation.right->span);
}

/* _total(problem, f, coordinate)(coords, jets): the total derivative of f. */
BUILTIN(total) {
	UNUSED;
	Layout l;
	layout_of(sp->c, &l, captured[0]->code);
	uint32_t coord = number_of(sp, captured[2]);
	Av *coords = call->args[0], *jets = call->args[1];
	Av **dc = ARENA_ARRAY(sp->a, Av *, l.ncoords + 1), **dj = ARENA_ARRAY(sp->a, Av *, l.njets + 1);
	for (uint32_t i = 0; i < l.ncoords; i++)
		dc[i] = av_array(sp, build_full(sp->b, ref_type(build_fn(sp->b), coords->items[i]->ref), i == coord ? 1 : 0));
	for (uint32_t i = 0; i < l.njets; i++) {
		Jet next = l.jets[i];
		next.order[coord]++;
		dj[i] = NULL;
		for (uint32_t k = 0; k < l.njets; k++)
			if (l.jets[k].field == next.field && !memcmp(l.jets[k].order, next.order, sizeof next.order)) dj[i] = jets->items[k];
		/* a jet whose successor is not laid out does not occur under the derivative */
		if (!dj[i]) dj[i] = av_array(sp, build_zeros(sp->b, ref_type(build_fn(sp->b), jets->items[i]->ref)));
	}
	Av *x = av_seq(sp, AV_TUPLE, 2, (Av *[]){coords, jets});
	Av *dx = av_seq(sp, AV_TUPLE, 2, (Av *[]){av_seq(sp, AV_TUPLE, l.ncoords, dc), av_seq(sp, AV_TUPLE, l.njets, dj)});
	Av *f = av_builtin(sp, "_spread", 1, (Av *[]){captured[1]});
	Av *both = sp_call_args(sp, av_builtin(sp, "jvp", 0, NULL), 3, (Av *[]){f, x, dx}, call->span);
	return both->items[1];
}

/* ---- reflection for the library ------------------------------------------------------------------------------------------------------------------ */

/* A problem with values for its parameters: as it is, or with its defaults. */
static Av *bound(Sp *sp, Av *p, Span at) {
	if (p->kind != AV_PROBLEM) sp_fail(sp, E_TYPE, at, "a problem is wanted, not %s", sp_type_text(sp, p));
	const Ast *e = p->code;
	for (uint32_t i = 0; i < e->problem->nparams; i++) {
		bool found = false;
		for (uint32_t k = 0; k < p->n; k++) found |= p->names[k] == e->problem->params[i].name;
		if (!found) return sp_call_args(sp, p, 0, NULL, at);
	}
	return p;
}

/* Which end of a coordinate a place is: 0 the lower, 1 the upper, -1 neither. */
static int end_of(Ctx *c, const Layout *l, int coord, const Ast *value) {
	const Domain *d = l->domain[coord];
	if (d->kind != DOMAIN_INTERVAL) return -1;
	return same_text(c, value, d->lo) ? 0 : same_text(c, value, d->hi) ? 1 : -1;
}

/* A place as (coord, side, value, name). `side` overrides what the place says, for `boundary`. */
static Av *at_record(Sp *sp, Sp *inner, const Layout *l, const At *at, int side) {
	Atom names[4] = {atom(sp->c, "coord"), atom(sp->c, "side"), atom(sp->c, "value"), atom(sp->c, "name")};
	int coord = -1;
	Av *value = av_none(sp);
	if (at->value && at->name) {
		coord = coord_index(l, at->name);
		if (coord < 0) sp_fail(sp, E_PROBLEM_COORD, at->span, "`%s` is not a coordinate of this problem", atom_text(sp->c, at->name));
		side = end_of(sp->c, l, coord, at->value);
		value = sp_expr(inner, at->value);
	} else if (side >= 0) {
		for (uint32_t i = 0; i < l->ncoords; i++)
			if (!is_time(sp->c, l, i) && coord < 0) coord = (int)i;
		if (coord >= 0) value = sp_expr(inner, side ? l->domain[coord]->hi : l->domain[coord]->lo);
	}
	if (value->kind == AV_ARRAY) value = av_array(sp, sp_to_dtype(sp, value, DT_F64));
	return av_record(sp, 4, names, (Av *[]){av_int(sp, coord), av_int(sp, side), value, av_string(sp, at->value ? "" : atom_text(sp->c, at->name))});
}

BUILTIN(problem_info) {
	UNUSED;
	Av *p = bound(sp, call->args[0], call->spans[0]);
	Layout *l = ARENA_NEW(sp->a, Layout);
	layout_of(sp->c, l, p->code);
	const Ast *e = l->e;
	/* ends of the domain are expressions over the parameters */
	Sp inner = *sp;
	inner.env = env_new(&inner, NULL);
	inner.module = session_module_of(sp->session, e->span.source);
	inner.self = p;
	inner.problem = NULL;
	for (uint32_t i = 0; i < p->n; i++) env_set(&inner, inner.env, p->names[i], p->items[i]);
	Av *coords[MAX_COORDS], *lo[MAX_COORDS], *hi[MAX_COORDS], *periodic[MAX_COORDS];
	for (uint32_t i = 0; i < l->ncoords; i++) {
		coords[i] = av_string(sp, atom_text(sp->c, l->coord[i]));
		const Domain *d = l->domain[i];
		lo[i] = d->kind == DOMAIN_INTERVAL ? av_array(sp, sp_scalar(sp, sp_expr(&inner, d->lo), DT_F64, d->lo->span, "the end of a domain")) : av_none(sp);
		hi[i] = d->kind == DOMAIN_INTERVAL ? av_array(sp, sp_scalar(sp, sp_expr(&inner, d->hi), DT_F64, d->hi->span, "the end of a domain")) : av_none(sp);
		periodic[i] = av_bool(sp, d->periodic);
	}
	uint32_t nf = e->problem->nfields;
	Av **fields = ARENA_ARRAY(sp->a, Av *, nf + 1), **sizes = ARENA_ARRAY(sp->a, Av *, nf + 1);
	for (uint32_t i = 0; i < nf; i++) {
		fields[i] = av_string(sp, atom_text(sp->c, e->problem->fields[i].name));
		const Ast *size = e->problem->fields[i].size;
		sizes[i] = size ? av_int(sp, sp_want_int(sp, sp_expr(&inner, size), size->span, "the size of a field")) : av_int(sp, 0);
	}
	Av **jets = ARENA_ARRAY(sp->a, Av *, l->njets + 1);
	for (uint32_t i = 0; i < l->njets; i++) {
		Av *parts[MAX_COORDS + 1] = {av_int(sp, l->jets[i].field)};
		for (uint32_t k = 0; k < l->ncoords; k++) parts[1 + k] = av_int(sp, l->jets[i].order[k]);
		jets[i] = av_seq(sp, AV_TUPLE, l->ncoords + 1, parts);
	}
	VEC_AVS equations = {0}, conditions = {0};
	int *order = ARENA_ARRAY(sp->a, int, (size_t)nf * nf + 1); /* of each field by the only coordinate, in each equation */
	for (uint32_t i = 0; i < nf * nf; i++) order[i] = -1;
	Atom cond_names[4] = {atom(sp->c, "residual"), atom(sp->c, "at"), atom(sp->c, "jets"), atom(sp->c, "text")};
	for (uint32_t i = 0; i < e->problem->nequations; i++) {
		const Ast *q = e->problem->equations[i];
		Av *f = expression_function(sp, p, q);
		size_t n;
		const char *text = source_text(sp->c, q->span.source, &n);
		Av *said = av_string(sp, arena_copy(sp->a, text + q->span.start, q->span.end - q->span.start));
		/* which jets this one mentions */
		Layout own;
		layout_coords(sp->c, &own, e);
		Needs need = {.c = sp->c, .l = &own};
		need_visit(&need, q->equation.left);
		need_visit(&need, q->equation.right);
		VEC_AVS used = {0};
		for (uint32_t k = 0; k < l->njets; k++)
			for (uint32_t m = 0; m < own.njets; m++)
				if (own.jets[m].field == l->jets[k].field && !memcmp(own.jets[m].order, l->jets[k].order, sizeof own.jets[m].order)) VEC_PUSH(sp->a, &used, av_int(sp, k));
		Av *mentioned = av_seq(sp, AV_TUPLE, used.n, used.at);
		for (uint32_t m = 0; !q->equation.nats && equations.n < nf && m < own.njets; m++) {
			int *of = &order[equations.n * nf + own.jets[m].field];
			if (own.jets[m].order[0] > *of) *of = own.jets[m].order[0];
		}
		if (!q->equation.nats) {
			Av *r = av_record(sp, 4, cond_names, (Av *[]){f, av_none(sp), mentioned, said});
			VEC_PUSH(sp->a, &equations, r);
		}
		for (uint32_t k = 0; k < q->equation.nats; k++) {
			const At *at = &q->equation.ats[k];
			const char *place = at->value ? "" : atom_text(sp->c, at->name);
			bool both = !strcmp(place, "boundary");
			for (int side = both || !strcmp(place, "left") ? 0 : 1; side <= (both || strcmp(place, "left") ? 1 : 0); side++) {
				Av *r = av_record(sp, 4, cond_names, (Av *[]){f, at_record(sp, &inner, l, at, place[0] ? side : -1), mentioned, said});
				VEC_PUSH(sp->a, &conditions, r);
			}
		}
	}
	/* how often each equation of a problem in one coordinate must be differentiated for the system to be one of ordinary differential equations */
	Av *structure = av_none(sp);
	if (l->ncoords == 1 && equations.n == nf) {
		int *c = ARENA_ARRAY(sp->a, int, 2 * nf + 1), *d = c + nf;
		uint32_t left = 0;
		const bool fine = structure_offsets(sp->a, nf, order, c, d, &left);
		Av **cs = ARENA_ARRAY(sp->a, Av *, 2 * nf + 1), **ds = cs + nf;
		for (uint32_t i = 0; i < nf; i++) {
			cs[i] = av_int(sp, fine ? c[i] : 0);
			ds[i] = av_int(sp, fine ? d[i] : 0);
		}
		const Atom names[3] = {atom(sp->c, "turns"), atom(sp->c, "orders"), atom(sp->c, "left")};
		structure = av_record(sp, 3, names, (Av *[]){av_seq(sp, AV_TUPLE, nf, cs), av_seq(sp, AV_TUPLE, nf, ds), av_int(sp, fine ? -1 : (int64_t)left)});
	}
	VEC_AVS events = {0};
	Atom event_names[5] = {atom(sp->c, "name"), atom(sp->c, "expr"), atom(sp->c, "direction"), atom(sp->c, "update"), atom(sp->c, "terminal")};
	for (uint32_t i = 0; i < e->problem->nevents; i++) {
		const Event *ev = &e->problem->events[i];
		Av *r = av_record(sp, 5, event_names,
		                  (Av *[]){av_string(sp, atom_text(sp->c, ev->name)), expression_function(sp, p, ev->expr), av_int(sp, ev->direction),
		                           ev->body ? expression_function(sp, p, ev->body) : av_none(sp), av_bool(sp, ev->terminal)});
		VEC_PUSH(sp->a, &events, r);
	}
	const char *labels[] = {"problem", "name", "coords", "lo", "hi", "periodic", "fields", "sizes", "jets", "equations", "conditions", "events", "structure", "eigen"};
	Av *values[] = {p, av_string(sp, atom_text(sp->c, e->problem->name)), av_seq(sp, AV_TUPLE, l->ncoords, coords), av_seq(sp, AV_TUPLE, l->ncoords, lo),
	                av_seq(sp, AV_TUPLE, l->ncoords, hi), av_seq(sp, AV_TUPLE, l->ncoords, periodic), av_seq(sp, AV_TUPLE, nf, fields), av_seq(sp, AV_TUPLE, nf, sizes),
	                av_seq(sp, AV_TUPLE, l->njets, jets), av_seq(sp, AV_TUPLE, equations.n, equations.at), av_seq(sp, AV_TUPLE, conditions.n, conditions.at),
	                av_seq(sp, AV_TUPLE, events.n, events.at), structure,
	                av_string(sp, e->problem->eigen ? atom_text(sp->c, e->problem->eigen) : "")};
	Atom names[14];
	for (int i = 0; i < 14; i++) names[i] = atom(sp->c, labels[i]);
	return av_record(sp, 14, names, values);
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
		VEC_PUSH(sp->a, &items, av_strong(sp, v));
	}
	Av *r = av_function(sp, CODE_AST, e->id, e, e->problem->name, names.n, names.at, items.at);
	r->kind = AV_PROBLEM;
	return r;
}

/* ---- checks of the statement -------------------------------------------------------------------------------------------------------------------- */

static uint32_t order_in(const Layout *l, uint32_t field, uint32_t coord) {
	uint32_t order = 0;
	for (uint32_t i = 0; i < l->njets; i++)
		if (l->jets[i].field == field && l->jets[i].order[coord] > order) order = l->jets[i].order[coord];
	return order;
}

/* Highest orders over the interior equations only. */
static void interior_layout(Ctx *c, Layout *l, const Ast *e) {
	layout_coords(c, l, e);
	Needs n = {.c = c, .l = l};
	for (uint32_t i = 0; i < e->problem->nequations; i++) {
		if (e->problem->equations[i]->equation.nats) continue;
		need_visit(&n, e->problem->equations[i]->equation.left);
		need_visit(&n, e->problem->equations[i]->equation.right);
	}
}

static bool mentions_field(Ctx *c, const Ast *e, const Ast *side_a, const Ast *side_b, uint32_t field) {
	Layout l;
	layout_coords(c, &l, e);
	Needs n = {.c = c, .l = &l};
	need_visit(&n, side_a);
	need_visit(&n, side_b);
	for (uint32_t i = 0; i < l.njets; i++)
		if (l.jets[i].field == field) return true;
	return false;
}

/* Number written as it stands in the source: "-1", "π". */
static const char *source_of(Ctx *c, const Ast *e) {
	size_t n;
	const char *text = source_text(c, e->span.source, &n);
	return arena_copy(ctx_arena(c), text + e->span.start, e->span.end - e->span.start);
}

static bool same_text(Ctx *c, const Ast *x, const Ast *y) {
	double a, b;
	const Ast *xs = x, *ys = y;
	double sx = 1, sy = 1;
	if (xs->kind == A_UNARY && xs->op == AO_NEG) xs = xs->unary.operand, sx = -1;
	if (ys->kind == A_UNARY && ys->op == AO_NEG) ys = ys->unary.operand, sy = -1;
	if (xs->kind == A_CONST && ys->kind == A_CONST && value_as_f64(xs->constant.value, &a) && value_as_f64(ys->constant.value, &b)) return sx * a == sy * b;
	return !strcmp(source_of(c, x), source_of(c, y));
}

static const char *ordinal(uint32_t n) {
	static const char *const words[] = {"zeroth", "first", "second", "third", "fourth", "fifth", "sixth"};
	return n < 7 ? words[n] : "higher";
}

static Span derivative_span(Ctx *c, const Layout *l, const Ast *e, uint32_t field, uint32_t coord, uint32_t order);

struct find_jet {
	Ctx *c;
	const Layout *l;
	uint32_t field, coord, order, shift;
	Span found;
};

static void find_jet_visit(void *ud, const Ast *e) {
	struct find_jet *f = ud;
	if (f->found.source) return;
	Jet j;
	if (e->kind == A_NAME) {
		if (jet_of_name(f->c, f->l, e->name.name, &j) && j.field == f->field && j.order[f->coord] + f->shift == f->order) f->found = e->span;
		return;
	}
	const Ast *operand;
	int coord, order;
	if (derivative_call(f->c, f->l, e, &operand, &coord, &order)) {
		uint32_t add = coord < 0 ? 2 : (uint32_t)coord == f->coord ? (uint32_t)order : 0;
		f->shift += add;
		find_jet_visit(f, operand);
		f->shift -= add;
		if (f->found.source && add) f->found = e->span;
		return;
	}
	ast_children(e, find_jet_visit, f);
}

/* Where the highest derivative by a coordinate is written. */
static Span derivative_span(Ctx *c, const Layout *l, const Ast *e, uint32_t field, uint32_t coord, uint32_t order) {
	struct find_jet f = {c, l, field, coord, order, 0, NO_SPAN};
	for (uint32_t i = 0; i < e->problem->nequations && !f.found.source; i++) {
		const Ast *q = e->problem->equations[i];
		if (q->equation.nats) continue;
		find_jet_visit(&f, q->equation.left);
		find_jet_visit(&f, q->equation.right);
	}
	return f.found.source ? f.found : e->problem->name_span;
}

/* Whether a condition stands at the far end of the only coordinate: then conditions count together, not field by field. */
static bool has_far_condition(Ctx *c, const Ast *e, const Layout *l) {
	if (l->ncoords != 1 || l->domain[0]->kind != DOMAIN_INTERVAL || l->domain[0]->periodic) return false;
	for (uint32_t i = 0; i < e->problem->nequations; i++)
		for (uint32_t m = 0; m < e->problem->equations[i]->equation.nats; m++) {
			const At *a = &e->problem->equations[i]->equation.ats[m];
			if (a->value ? same_text(c, a->value, l->domain[0]->hi) : strcmp(atom_text(c, a->name), "left")) return true;
		}
	return false;
}

/* Of a boundary value problem in one coordinate: as many conditions as the orders of all unknowns make together. Those of vectors are counted when it is solved. */
static void check_between(Ctx *c, const Ast *e, const Layout *l) {
	const Domain *d = l->domain[0];
	const char *coord = atom_text(c, l->coord[0]);
	uint32_t order = 0, given = 0;
	Span last = e->problem->name_span;
	for (uint32_t f = 0; f < e->problem->nfields; f++) {
		if (e->problem->fields[f].size) return;
		order += order_in(l, f, 0);
	}
	for (uint32_t i = 0; i < e->problem->nequations; i++)
		for (uint32_t m = 0; m < e->problem->equations[i]->equation.nats; m++) {
			const At *a = &e->problem->equations[i]->equation.ats[m];
			given += !a->value && !strcmp(atom_text(c, a->name), "boundary") ? 2 : 1;
			last = a->span;
			if (!a->value || same_text(c, a->value, d->lo) || same_text(c, a->value, d->hi)) continue;
			Diag *g = diag_error(c, E_PROBLEM_CONDITION, a->span, "%s = %s is not an end of the domain", coord, source_of(c, a->value));
			diag_second(c, g, l->coord_span[0], "`%s` runs from %s to %s", coord, source_of(c, d->lo), source_of(c, d->hi));
			return;
		}
	if (given == order) return;
	const char *also = e->problem->eigen ? ", one of them for the eigenvalue" : "";
	diag_error(c, E_PROBLEM_CONDITION, given > order ? last : e->problem->name_span, "`%s` takes %u condition%s at the ends of %s%s; there %s %u", atom_text(c, e->problem->name), order,
	           order == 1 ? "" : "s", coord, also, given == 1 ? "is" : "are", given);
}

static void check_conditions(Ctx *c, const Ast *e, const Layout *l, uint32_t field) {
	const char *name = atom_text(c, e->problem->fields[field].name);
	for (uint32_t k = 0; k < l->ncoords; k++) {
		const Domain *d = l->domain[k];
		uint32_t order = order_in(l, field, k), at_lo = 0, at_hi = 0, elsewhere = 0;
		if (d->kind != DOMAIN_INTERVAL) continue;
		Span extra = NO_SPAN;
		for (uint32_t i = 0; i < e->problem->nequations; i++) {
			const Ast *q = e->problem->equations[i];
			if (!q->equation.nats || !mentions_field(c, e, q->equation.left, q->equation.right, field)) continue;
			for (uint32_t m = 0; m < q->equation.nats; m++) {
				const At *a = &q->equation.ats[m];
				if (!a->value) {
					const char *where = atom_text(c, a->name);
					bool left = !strcmp(where, "left"), right = !strcmp(where, "right"), both = !strcmp(where, "boundary");
					if (is_time(c, l, k) || !(left || right || both)) continue;
					at_lo += left || both;
					at_hi += right || both;
					extra = a->span;
					continue;
				}
				if (a->name != l->coord[k]) continue;
				extra = a->span;
				if (same_text(c, a->value, d->lo)) at_lo++;
				else if (same_text(c, a->value, d->hi)) at_hi++;
				else {
					elsewhere++;
					Diag *g = diag_error(c, E_PROBLEM_CONDITION, a->span, "%s = %s is not an end of the domain", atom_text(c, l->coord[k]), source_of(c, a->value));
					diag_second(c, g, l->coord_span[k], "`%s` runs from %s to %s", atom_text(c, l->coord[k]), source_of(c, d->lo), source_of(c, d->hi));
				}
			}
		}
		const char *coord = atom_text(c, l->coord[k]), *lo = source_of(c, d->lo), *hi = source_of(c, d->hi);
		uint32_t total = at_lo + at_hi;
		if (elsewhere) continue;
		if (d->periodic) {
			if (total) diag_error(c, E_PROBLEM_CONDITION, extra, "`%s` is periodic and takes no condition at its ends", coord);
			continue;
		}
		if (total == order) {
			if (order == 2 && !is_time(c, l, k) && at_lo != 1) {
				bool lo_missing = at_lo == 0;
				diag_error(c, E_PROBLEM_CONDITION, derivative_span(c, l, e, field, k, order),
				           "this is second order in %s and needs a condition on each of %s = %s and %s = %s; %s = %s has none", coord, coord, lo, coord, hi, coord, lo_missing ? lo : hi);
			}
			continue;
		}
		if (total > order) {
			if (order == 0 && total == 1 && at_lo && is_time(c, l, k) && l->ncoords == 1) continue; /* where to look for the solution of an algebraic equation */
			if (order == 0)
				diag_error(c, E_PROBLEM_CONDITION, extra, "`%s` has no derivative in %s and takes no condition there", name, coord);
			else
				diag_error(c, E_PROBLEM_CONDITION, extra, "`%s` is %s order in %s and takes %u condition%s there; there are %u", name, ordinal(order), coord, order, order == 1 ? "" : "s", total);
			continue;
		}
		Span where = derivative_span(c, l, e, field, k, order);
		if (is_time(c, l, k)) {
			Diag *g = diag_error(c, E_PROBLEM_CONDITION, where, "this is %s order in %s and needs %u initial condition%s for `%s`; there %s %u", ordinal(order), coord, order,
			                     order == 1 ? "" : "s", name, total == 1 ? "is" : "are", total);
			diag_hint(c, g, "write %s == ... at %s = %s", name, coord, lo);
		} else if (order == 2)
			diag_error(c, E_PROBLEM_CONDITION, where, "this is second order in %s and needs a condition on each of %s = %s and %s = %s; %s", coord, coord, lo, coord, hi,
			           total == 0 ? "there is none" : arena_printf(ctx_arena(c), "%s = %s has none", coord, at_lo ? hi : lo));
		else
			diag_error(c, E_PROBLEM_CONDITION, where, "this is %s order in %s and needs %u condition%s there; there %s %u", ordinal(order), coord, order, order == 1 ? "" : "s",
			           total == 1 ? "is" : "are", total);
	}
}

/* Names in the equations: an unknown one is most likely a slip, or a derivative by what is no coordinate. */
typedef struct NameCheck {
	Session *s;
	Module *m;
	const Env *around;
	const Layout *l;
	VEC_ATOMS known;
} NameCheck;

static bool is_known(NameCheck *k, Atom name) {
	Ctx *c = ctx_of_session(k->s);
	Jet j;
	for (uint32_t i = 0; i < k->known.n; i++)
		if (k->known.at[i] == name) return true;
	if (env_find(k->around, name) || coord_index(k->l, name) >= 0 || jet_of_name(c, k->l, name, &j)) return true;
	const Builtin *b = builtin_find(atom_text(c, name));
	return (b && b->doc) || session_lookup(k->s, k->m, name).kind != V_UNSET || session_module_named(k->s, k->m, name);
}

static void check_name(NameCheck *k, const Ast *e) {
	Ctx *c = ctx_of_session(k->s);
	const char *text = atom_text(c, e->name.name);
	if (is_known(k, e->name.name)) return;
	for (uint32_t i = 0; i < k->l->e->problem->nfields; i++) {
		const char *field = atom_text(c, k->l->e->problem->fields[i].name);
		size_t n = strlen(field);
		if (strncmp(text, field, n) || text[n] != '_' || !text[n + 1]) continue;
		Diag *d = diag_error(c, E_PROBLEM_COORD, e->span, "`%s` looks like a derivative of `%s`, but `%s` names no coordinate of this problem", text, field, text + n + 1);
		if (k->l->ncoords) diag_second(c, d, k->l->coord_span[0], k->l->ncoords == 1 ? "the coordinate is here" : "the coordinates are here");
		return;
	}
	Arena *a = ctx_arena(c);
	Sp sp = {.c = c, .session = k->s, .a = a, .module = k->m, .env = (Env *)k->around};
	Suggest suggest = {.sp = &sp};
	for (uint32_t i = 0; i < k->known.n; i++) suggest_name(&suggest, atom_text(c, k->known.at[i]));
	for (uint32_t i = 0; i < k->l->ncoords; i++) suggest_name(&suggest, atom_text(c, k->l->coord[i]));
	for (uint32_t i = 0; i < k->l->e->problem->nfields; i++) suggest_name(&suggest, atom_text(c, k->l->e->problem->fields[i].name));
	const char *best = suggest_best(&suggest, text, NULL, e->span);
	diag_error(c, E_NAME, e->span, "no `%s`%s", text, best ? arena_printf(a, "; did you mean `%s`?", best) : "");
}

static void check_names(void *ud, const Ast *e) {
	NameCheck *k = ud;
	Arena *a = ctx_arena(ctx_of_session(k->s));
	uint32_t mark = k->known.n;
	switch ((AstKind)e->kind) {
	case A_NAME: check_name(k, e); return;
	case A_LAMBDA:
	case A_DEF:
		if (e->kind == A_DEF) VEC_PUSH(a, &k->known, e->function.name);
		for (uint32_t i = 0; i < e->function.nparams; i++) {
			const Param *p = &e->function.params[i];
			VEC_PUSH(a, &k->known, p->name);
			for (uint32_t t = 0; p->pattern && t < p->pattern->tuple.n; t++)
				if (p->pattern->tuple.items[t]->kind == A_NAME) VEC_PUSH(a, &k->known, p->pattern->tuple.items[t]->name.name);
		}
		check_names(k, e->function.body);
		k->known.n = e->kind == A_DEF ? mark + 1 : mark;
		return;
	case A_COMPREHENSION:
	case A_BLOCK:
	case A_FOR:
	case A_WHILE:
	case A_TRY:
	case A_INDEX_DEF: return; /* bring names of their own; what is wrong with them is found when they are evaluated */
	case A_ASSIGN:
		check_names(k, e->assign.value);
		if (e->assign.target->kind == A_NAME) VEC_PUSH(a, &k->known, e->assign.target->name.name);
		return;
	case A_CALL:
		/* a function may be defined after the problem that calls it */
		if (e->call.callee->kind != A_NAME) check_names(k, e->call.callee);
		for (uint32_t i = 0; i < e->call.n; i++) check_names(k, e->call.args[i].value);
		return;
	case A_FIELD:
		if (e->field.base->kind != A_NAME || !session_module_named(k->s, k->m, e->field.base->name.name)) check_names(k, e->field.base);
		return;
	default: ast_children(e, check_names, k);
	}
}

void session_check_problem(Session *s, Module *m, const Env *around, const Ast *e) {
	Ctx *c = ctx_of_session(s);
	uint32_t before = diag_count(c, SEV_ERROR);
	Layout l;
	interior_layout(c, &l, e);
	const char *name = atom_text(c, e->problem->name);
	for (uint32_t i = 0; i < l.ncoords; i++)
		for (uint32_t k = 0; k < i; k++)
			if (l.coord[i] == l.coord[k]) diag_error(c, E_DUPLICATE, l.coord_span[i], "the coordinate `%s` stands twice", atom_text(c, l.coord[i]));
	for (uint32_t i = 0; i < e->problem->nfields; i++) {
		for (uint32_t k = 0; k < i; k++)
			if (e->problem->fields[i].name == e->problem->fields[k].name)
				diag_error(c, E_DUPLICATE, e->problem->fields[i].span, "the field `%s` stands twice", atom_text(c, e->problem->fields[i].name));
		if (coord_index(&l, e->problem->fields[i].name) >= 0)
			diag_error(c, E_DUPLICATE, e->problem->fields[i].span, "`%s` is both a coordinate and a field", atom_text(c, e->problem->fields[i].name));
	}
	if (!e->problem->nfields) diag_error(c, E_PROBLEM, e->problem->name_span, "the problem `%s` has no field: there is nothing to solve for", name);
	uint32_t interior = 0;
	for (uint32_t i = 0; i < e->problem->nequations; i++) {
		const Ast *q = e->problem->equations[i];
		interior += q->equation.nats == 0;
		for (uint32_t k = 0; k < q->equation.nats; k++) {
			const At *a = &q->equation.ats[k];
			if (a->value && a->name && coord_index(&l, a->name) < 0)
				diag_error(c, E_PROBLEM_COORD, a->span, "`%s` is not a coordinate of this problem", atom_text(c, a->name));
		}
	}
	if (interior != e->problem->nfields && e->problem->nfields && diag_count(c, SEV_ERROR) == before) {
		Diag *d = diag_error(c, E_PROBLEM_COUNT, e->problem->name_span, "%u unknown%s and %u equation%s in `%s`", e->problem->nfields, e->problem->nfields == 1 ? "" : "s", interior,
		                     interior == 1 ? "" : "s", name);
		for (uint32_t f = 0; f < e->problem->nfields; f++) {
			bool seen = false;
			for (uint32_t i = 0; i < l.njets; i++) seen |= l.jets[i].field == f;
			if (!seen) {
				diag_second(c, d, e->problem->fields[f].span, "no equation has `%s`", atom_text(c, e->problem->fields[f].name));
				break;
			}
		}
	}
	NameCheck names = {.s = s, .m = m, .around = around, .l = &l};
	for (uint32_t i = 0; i < e->problem->nparams; i++) VEC_PUSH(ctx_arena(c), &names.known, e->problem->params[i].name);
	if (e->problem->eigen) VEC_PUSH(ctx_arena(c), &names.known, e->problem->eigen);
	bool fine = diag_count(c, SEV_ERROR) == before;
	for (uint32_t i = 0; fine && i < e->problem->nlocals; i++) check_names(&names, e->problem->locals[i]);
	for (uint32_t i = 0; fine && i < e->problem->nequations; i++) {
		check_names(&names, e->problem->equations[i]->equation.left);
		check_names(&names, e->problem->equations[i]->equation.right);
	}
	if (diag_count(c, SEV_ERROR) == before)
	{
		if (e->problem->nfields > 1 && has_far_condition(c, e, &l)) check_between(c, e, &l);
		else
			for (uint32_t f = 0; f < e->problem->nfields; f++) check_conditions(c, e, &l, f);
	}
	if (diag_count(c, SEV_ERROR) != before) ctx_throw(c, ST_ERROR);
}

const Builtin builtins_problem[] = {
	{.name = "_problem_info", .min_args = 1, .max_args = 1, .run = problem_info},
	{.name = "_problem_expr", .min_args = 2, .max_args = 2, .run = problem_expr},
	{.name = "_total", .min_args = 2, .max_args = 2, .run = total},
	{.name = NULL},
};
