/* check.c - syntactic checks of a problem: names, counts, and orders against
 * conditions on every face.
 *
 * Needs: problem.h.
 *
 * Contract:
 * - Reports all errors of the problem's text, with locations, before any
 *   evaluation.
 * - well_posed.c checks what needs values: types of equations, signs, corners.
 */
#include "parser/problem/problem.h"

enum { MAX_PARTS = 32 }; /* components of a vector that are distinguished */

/* ---- orders -------------------------------------------------------------- */

static uint32_t order_in(const Layout *l, uint32_t field, uint32_t coord) {
	uint32_t order = 0;
	for (uint32_t i = 0; i < l->njets; i++)
		if (l->jets[i].field == field && l->jets[i].order[coord] > order)
			order = l->jets[i].order[coord];
	return order;
}

struct find_jet {
	Ctx *c;
	const Layout *l;
	uint32_t field, coord, order, shift, depth;
	Span found;
};

static void find_jet_visit(void *ud, const Ast *e) {
	struct find_jet *f = ud;
	if (f->found.source || f->depth > 64) return;
	const DerivativeForm d = derivative_of(f->c, f->l, e);
	if (d.kind != DER_NONE) {
		const bool space = !coord_is_time(f->l, f->coord);
		const uint32_t add = d.kind == DER_BY       ? (d.coord == f->coord ? d.order : 0)
		                     : d.kind == DER_NORMAL ? 0
		                     : d.kind == DER_LAP    ? 2 * space
		                                            : space;
		if (d.along) find_jet_visit(f, d.along);
		f->shift += add;
		find_jet_visit(f, d.operand);
		f->shift -= add;
		if (f->found.source && add) f->found = e->span;
		return;
	}
	JetVariable j;
	if (e->kind != A_NAME) {
		ast_children(e, find_jet_visit, f);
		return;
	}
	const Ast *local = local_named(f->l, e->name.name);
	if (local) {
		f->depth++;
		find_jet_visit(f, local->kind == A_ASSIGN ? local->assign.value : local->function.body);
		f->depth--;
	} else if (jet_of_name(f->c, f->l, e->name.name, &j) && j.field == f->field &&
	           j.order[f->coord] + f->shift == f->order)
		f->found = e->span;
}

Span derivative_place(Ctx *c, const Layout *l, const Ast *e, uint32_t field, uint32_t coord,
                      uint32_t order) {
	struct find_jet f = {.c = c, .l = l, .field = field, .coord = coord, .order = order};
	for (uint32_t i = 0; i < e->problem->nequations && !f.found.source; i++) {
		const Ast *q = e->problem->equations[i];
		if (q->equation.nats) continue;
		find_jet_visit(&f, q->equation.left);
		find_jet_visit(&f, q->equation.right);
	}
	return f.found;
}

/* The location of the highest derivative with respect to a coordinate. */
static Span derivative_span(Ctx *c, const Layout *l, const Ast *e, uint32_t field, uint32_t coord,
                            uint32_t order) {
	const Span at = derivative_place(c, l, e, field, coord, order);
	return at.source ? at : e->problem->name_span;
}

/* ---- fields and components of a condition -------------------------------- */

typedef struct PartsOf {
	Ctx *c;
	const Layout *l;
	uint32_t *parts; /* by field: one bit for each component */
	uint32_t depth;
} PartsOf;

static bool field_under(const PartsOf *p, const Ast *e, uint32_t *field) {
	JetVariable j;
	const DerivativeForm d = derivative_of(p->c, p->l, e);
	if (d.kind == DER_BY || d.kind == DER_NORMAL || d.kind == DER_GRAD)
		return field_under(p, d.operand, field);
	if (e->kind != A_NAME || local_named(p->l, e->name.name) ||
	    !jet_of_name(p->c, p->l, e->name.name, &j))
		return false;
	*field = j.field;
	return true;
}

static void parts_visit(void *ud, const Ast *e) {
	PartsOf *p = ud;
	int64_t i;
	uint32_t field;
	if (p->depth > 64) return;
	if (e->kind == A_INDEX && e->index.n && e->index.items[0]->kind == A_CONST &&
	    value_as_i64(e->index.items[0]->constant.value, &i) && i >= 0 && i < MAX_PARTS &&
	    field_under(p, e->index.base, &field)) {
		p->parts[field] |= 1u << i;
		return;
	}
	if (e->kind != A_NAME) {
		ast_children(e, parts_visit, p);
		return;
	}
	const Ast *local = local_named(p->l, e->name.name);
	JetVariable j;
	if (local) {
		p->depth++;
		parts_visit(p, local->kind == A_ASSIGN ? local->assign.value : local->function.body);
		p->depth--;
	} else if (jet_of_name(p->c, p->l, e->name.name, &j)) p->parts[j.field] = UINT32_MAX;
}

/* A condition at one location, and the unknowns in it. */
typedef struct LocatedCondition {
	const Ast *q;
	const At *at;
	BoundaryLocation boundary;
	uint32_t *parts;    /* by field */
	uint32_t nunknowns; /* number of unknowns in it: fields, or components with an index */
} LocatedCondition;
typedef VEC(LocatedCondition) Givens;

static Givens conditions_of(Ctx *c, const Ast *e, const Layout *l) {
	Givens out = {0};
	Arena *a = ctx_arena(c);
	for (uint32_t i = 0; i < e->problem->nequations; i++) {
		const Ast *q = e->problem->equations[i];
		if (!q->equation.nats) continue;
		PartsOf p = {.c = c, .l = l, .parts = ARENA_ARRAY(a, uint32_t, e->problem->nfields + 1)};
		memset(p.parts, 0, e->problem->nfields * sizeof *p.parts);
		parts_visit(&p, q->equation.left);
		parts_visit(&p, q->equation.right);
		uint32_t mentioned = 0;
		for (uint32_t f = 0; f < fields_with_equation(e); f++)
			mentioned += p.parts[f] == UINT32_MAX ? 1 : (uint32_t)__builtin_popcount(p.parts[f]);
		for (uint32_t k = 0; k < q->equation.nats; k++) {
			BoundaryLocation boundaries[MAX_LOCATIONS];
			const uint32_t n = boundary_locations(c, l, &q->equation.ats[k], boundaries);
			for (uint32_t s = 0; s < n; s++)
				VEC_PUSH(a, &out,
				         ((LocatedCondition){q, &q->equation.ats[k], boundaries[s], p.parts,
				                             mentioned}));
		}
	}
	return out;
}

static uint32_t components_of(const Ast *e, uint32_t field) {
	int64_t m = 1;
	const Ast *size = e->problem->fields[field].size;
	if (!size || size->kind != A_CONST || !value_as_i64(size->constant.value, &m) || m < 1 ||
	    m > MAX_PARTS)
		return 1;
	return (uint32_t)m;
}

/* "u", "v[1]". */
static const char *part_name(Ctx *c, const Ast *e, uint32_t field, uint32_t part) {
	const char *name = atom_text(c, e->problem->fields[field].name);
	return components_of(e, field) == 1 ? name : arena_printf(ctx_arena(c), "%s[%u]", name, part);
}

/* ---- orders against conditions ------------------------------------------- */

/* True when a condition is at the far end of the only coordinate. Conditions
 * are then counted together, not field by field. */
static bool has_far_condition(const Layout *l, const Givens *given) {
	if (l->ncoords != 1 || !l->coord[0].lo || l->coord[0].periodic) return false;
	for (uint32_t i = 0; i < given->n; i++)
		if (given->at[i].boundary.coord == 0 && given->at[i].boundary.side == 1) return true;
	return false;
}

/* True when all conditions are at one end of the only coordinate, and their
 * number is the sum of the orders of all unknowns. */
static bool told_at_one_end(const Ast *e, const Layout *l, const Givens *given) {
	if (l->ncoords != 1 || !l->coord[0].lo || l->coord[0].periodic || e->problem->eigen ||
	    !given->n)
		return false;
	uint32_t order = 0;
	for (uint32_t f = 0; f < e->problem->nfields; f++) order += order_in(l, f, 0);
	for (uint32_t i = 0; i < given->n; i++)
		if (given->at[i].boundary.coord != 0 ||
		    given->at[i].boundary.side != given->at[0].boundary.side)
			return false;
	return given->n == order;
}

/* A boundary value problem in one coordinate: the number of conditions must be
 * the sum of the orders of all unknowns. Conditions on vectors are counted when
 * the problem is solved. */
static void check_between(Ctx *c, const Ast *e, const Layout *l, const Givens *given) {
	uint32_t order = 0;
	for (uint32_t f = 0; f < e->problem->nfields; f++) {
		if (e->problem->fields[f].size) return;
		order += order_in(l, f, 0);
	}
	if (given->n == order) return;
	const Span last = given->n > order ? given->at[given->n - 1].at->span : e->problem->name_span;
	const char *also = e->problem->eigen ? ", one of them for the eigenvalue" : "";
	diag_error(c, E_PROBLEM_CONDITION, last,
	           "`%s` takes %u condition%s at the ends of %s%s; there %s %u",
	           atom_text(c, e->problem->name), order, order == 1 ? "" : "s",
	           atom_text(c, l->coord[0].name), also, given->n == 1 ? "is" : "are", given->n);
}

/* The number of conditions on one component of a field at each end of a
 * coordinate: all of them, and those with this component or field only. */
typedef struct Cover {
	uint32_t all[2], own[2];
	Span last, last_own[2];
} Cover;

static Cover cover_of(const Givens *given, uint32_t field, uint32_t part, uint32_t coord) {
	Cover v = {0};
	for (uint32_t i = 0; i < given->n; i++) {
		const LocatedCondition *g = &given->at[i];
		if (g->boundary.coord != (int)coord || g->boundary.side < 0 ||
		    !(g->parts[field] >> part & 1))
			continue;
		v.all[g->boundary.side]++;
		v.last = g->at->span;
		if (g->nunknowns != 1) continue;
		v.own[g->boundary.side]++;
		v.last_own[g->boundary.side] = g->at->span;
	}
	return v;
}

/* Checks conditions in t. If all conditions are at one end of the only
 * coordinate, a solution evolves from there as in t, and this check applies as
 * well. */
static void check_time(Ctx *c, const Ast *e, const Layout *l, uint32_t f, uint32_t part, uint32_t k,
                       uint32_t order, const Cover *v, bool *said) {
	const Coordinate *t = &l->coord[k];
	const char *coord = atom_text(c, t->name), *name = part_name(c, e, f, part);
	const uint32_t total = v->all[0] + v->all[1], own = v->own[0] + v->own[1];
	if (own > order) {
		/* A starting value for an algebraic equation. */
		if (order == 0 && own == 1 && v->own[0] && l->ncoords == 1) return;
		if (order == 0)
			diag_error(c, E_PROBLEM_CONDITION, v->last,
			           "`%s` has no derivative in %s and takes no condition there", name, coord);
		else
			diag_error(c, E_PROBLEM_CONDITION, v->last,
			           "`%s` is %s order in %s and takes %u condition%s there; there are %u", name,
			           ordinal(order), coord, order, order == 1 ? "" : "s", own);
		*said = true;
	} else if (total < order) {
		Diag *g = diag_error(
			c, E_PROBLEM_CONDITION, derivative_span(c, l, e, f, k, order),
			"this is %s order in %s and needs %u initial condition%s for `%s`; there %s %u",
			ordinal(order), coord, order, order == 1 ? "" : "s", name, total == 1 ? "is" : "are",
			total);
		const char *what = total ? arena_printf(ctx_arena(c), "%s_%s", name, coord) : name;
		diag_hint(c, g, "write %s == ... at %s = %s", what, coord, source_of(c, t->lo));
		*said = true;
	}
}

static void check_space(Ctx *c, const Ast *e, const Layout *l, uint32_t f, uint32_t part,
                        uint32_t k, uint32_t order, const Cover *v, bool *said) {
	const char *coord = atom_text(c, l->coord[k].name),
			   *ends[2] = {source_of(c, l->coord[k].lo), source_of(c, l->coord[k].hi)},
			   *name = part_name(c, e, f, part);
	const uint32_t total = v->all[0] + v->all[1], own = v->own[0] + v->own[1];
	const bool alone = fields_with_equation(e) == 1, vector = components_of(e, f) > 1;
	const char *of = vector || !alone ? arena_printf(ctx_arena(c), " on `%s`", name) : "";
	*said = true;
	if (order == 0) {
		if (own)
			diag_error(c, E_PROBLEM_CONDITION, v->last,
			           "`%s` has no derivative in %s and takes no condition there", name, coord);
		else *said = false;
	} else if (order % 2) {
		/* As many as its order, at either end. At order 1, evaluation shows
		 * which end is an inflow (well_posed.c); the same holds for systems. */
		if (own > order && order > 1 && alone && !vector)
			diag_error(c, E_PROBLEM_CONDITION, v->last,
			           "`%s` is %s order in %s and takes %u conditions there; there are %u", name,
			           ordinal(order), coord, order, own);
		else if (alone && !vector && total < order && (order > 1 || l->time < 0))
			diag_error(c, E_PROBLEM_CONDITION, derivative_span(c, l, e, f, k, order),
			           "this is %s order in %s and needs %u condition%s there; there %s %u",
			           ordinal(order), coord, order, order == 1 ? "" : "s",
			           total == 1 ? "is" : "are", total);
		else if (v->own[0] > order || v->own[1] > order)
			diag_error(c, E_PROBLEM_CONDITION, v->last_own[v->own[1] > order],
			           "`%s` is %s order in %s and takes %u condition%s at an end; there are %u at "
			           "%s = %s",
			           name, ordinal(order), coord, order, order == 1 ? "" : "s",
			           v->own[v->own[1] > order], coord, ends[v->own[1] > order]);
		else if (own > order && l->ncoords == 1)
			diag_error(c, E_PROBLEM_CONDITION, v->last,
			           "`%s` is %s order in %s and takes %u condition%s there; there are %u", name,
			           ordinal(order), coord, order, order == 1 ? "" : "s", own);
		else *said = false;
	} else if (v->all[0] < order / 2 || v->all[1] < order / 2) {
		const Span where = derivative_span(c, l, e, f, k, order);
		const bool both = v->all[0] < order / 2 && v->all[1] < order / 2,
				   hi = v->all[1] < order / 2;
		if (order == 2)
			diag_error(c, E_PROBLEM_CONDITION, where,
			           "this is second order in %s and needs a condition%s on each of %s = %s and "
			           "%s = %s; %s",
			           coord, of, coord, ends[0], coord, ends[1],
			           both ? "there is none"
			                : arena_printf(ctx_arena(c), "%s = %s has none", coord, ends[hi]));
		else
			diag_error(c, E_PROBLEM_CONDITION, where,
			           "this is %s order in %s and needs %u conditions%s on each of %s = %s and %s "
			           "= %s; %s = %s has %u",
			           ordinal(order), coord, order / 2, of, coord, ends[0], coord, ends[1], coord,
			           ends[hi], v->all[hi]);
	} else if (v->own[0] > order / 2 || v->own[1] > order / 2) {
		const bool hi = v->own[1] > order / 2;
		if (order == 2 && own == 2 && total == 2)
			diag_error(c, E_PROBLEM_CONDITION, derivative_span(c, l, e, f, k, order),
			           "this is second order in %s and needs a condition%s on each of %s = %s and "
			           "%s = %s; %s = %s has none",
			           coord, of, coord, ends[0], coord, ends[1], coord, ends[!hi]);
		else
			diag_error(c, E_PROBLEM_CONDITION, v->last_own[hi],
			           "`%s` is %s order in %s and takes %u condition%s at %s = %s; there are %u",
			           name, ordinal(order), coord, order / 2, order == 2 ? "" : "s", coord,
			           ends[hi], v->own[hi]);
	} else *said = false;
}

/* On the boundary of a region, an unknown of second order needs a condition
 * somewhere. The positions of the parts are known when the problem is
 * solved. */
static void check_region(Ctx *c, const Ast *e, const Layout *l, const Givens *given, uint32_t f) {
	uint32_t order = 0, coord = 0, parts = 0;
	for (uint32_t k = 0; k < l->ncoords; k++)
		if (!l->coord[k].lo && order_in(l, f, k) > order) order = order_in(l, f, coord = k);
	for (uint32_t i = 0; i < given->n; i++)
		if (given->at[i].boundary.location == LOCATION_PART) parts |= given->at[i].parts[f];
	for (uint32_t part = 0; part < components_of(e, f); part++) {
		if (order < 2 || parts >> part & 1) continue;
		Diag *d = diag_error(c, E_PROBLEM_CONDITION, derivative_span(c, l, e, f, coord, order),
		                     "this is %s order in space and needs a condition on `%s` on the "
		                     "boundary of the region; there is none",
		                     ordinal(order), part_name(c, e, f, part));
		diag_second(c, d, l->region->span, "the region is here");
		return;
	}
}

static void check_conditions(Ctx *c, const Ast *e, const Layout *l, const Givens *given,
                             uint32_t f) {
	for (uint32_t k = 0; k < l->ncoords; k++) {
		const Coordinate *x = &l->coord[k];
		if (!x->lo) continue;
		const uint32_t order = order_in(l, f, k);
		bool said = false; /* once for each field and coordinate */
		for (uint32_t part = 0; part < components_of(e, f) && !said; part++) {
			const Cover v = cover_of(given, f, part, k);
			if (x->periodic) {
				if (v.all[0] + v.all[1])
					diag_error(c, E_PROBLEM_CONDITION, v.last,
					           "`%s` is periodic and takes no condition at its ends",
					           atom_text(c, x->name));
				said = v.all[0] + v.all[1];
			} else if (coord_is_time(l, k) || told_at_one_end(e, l, given))
				check_time(c, e, l, f, part, k, order, &v, &said);
			else check_space(c, e, l, f, part, k, order, &v, &said);
		}
	}
	if (l->region) check_region(c, e, l, given, f);
}

/* ---- names --------------------------------------------------------------- */

/* Checks the names in the equations. An unknown name is most likely a mistake,
 * or a derivative with respect to something that is no coordinate. */
typedef struct NameCheck {
	Session *s;
	Module *m;
	const Env *around;
	const Layout *l;
	VEC_ATOMS known;
} NameCheck;

static bool is_known(NameCheck *k, Atom name) {
	Ctx *c = ctx_of_session(k->s);
	JetVariable j;
	for (uint32_t i = 0; i < k->known.n; i++)
		if (k->known.at[i] == name) return true;
	if (env_find(k->around, name) || coord_index(k->l, name) >= 0 || jet_of_name(c, k->l, name, &j))
		return true;
	const Builtin *b = builtin_find(atom_text(c, name));
	return (b && b->doc) || session_lookup(k->s, k->m, name).kind != V_UNSET ||
	       session_module_named(k->s, k->m, name);
}

static void check_name(NameCheck *k, const Ast *e) {
	Ctx *c = ctx_of_session(k->s);
	const char *text = atom_text(c, e->name.name);
	if (is_known(k, e->name.name)) return;
	for (uint32_t i = 0; i < k->l->e->problem->nfields; i++) {
		const char *field = atom_text(c, k->l->e->problem->fields[i].name);
		size_t n = strlen(field);
		if (strncmp(text, field, n) || text[n] != '_' || !text[n + 1]) continue;
		Diag *d = diag_error(
			c, E_PROBLEM_COORD, e->span,
			"`%s` looks like a derivative of `%s`, but `%s` names no coordinate of this problem",
			text, field, text + n + 1);
		if (k->l->ncoords)
			diag_second(c, d, k->l->coord[0].span,
			            k->l->ncoords == 1 ? "the coordinate is here" : "the coordinates are here");
		return;
	}
	Arena *a = ctx_arena(c);
	Sp sp = {.c = c, .session = k->s, .a = a, .module = k->m, .env = (Env *)k->around};
	Suggest suggest = {.sp = &sp};
	for (uint32_t i = 0; i < k->known.n; i++) suggest_name(&suggest, atom_text(c, k->known.at[i]));
	for (uint32_t i = 0; i < k->l->ncoords; i++)
		suggest_name(&suggest, atom_text(c, k->l->coord[i].name));
	for (uint32_t i = 0; i < k->l->e->problem->nfields; i++)
		suggest_name(&suggest, atom_text(c, k->l->e->problem->fields[i].name));
	const char *best = suggest_best(&suggest, text, NULL, e->span);
	diag_error(c, E_NAME, e->span, "no `%s`%s", text,
	           best ? arena_printf(a, "; did you mean `%s`?", best) : "");
}

/* Reports d(u, y) when y is no coordinate. */
static bool is_no_coordinate(NameCheck *k, const Ast *e) {
	Ctx *c = ctx_of_session(k->s);
	const Ast *by = e->call.args[1].value;
	if (by->kind != A_NAME || coord_index(k->l, by->name.name) >= 0 ||
	    local_named(k->l, e->call.callee->name.name))
		return false;
	for (uint32_t i = 0; i < k->known.n; i++)
		if (k->known.at[i] == e->call.callee->name.name) return false;
	Diag *d = diag_error(c, E_PROBLEM_COORD, by->span,
	                     "a derivative by `%s`, which is no coordinate of this problem",
	                     atom_text(c, by->name.name));
	if (k->l->ncoords)
		diag_second(c, d, k->l->coord[0].span,
		            k->l->ncoords == 1 ? "the coordinate is here" : "the coordinates are here");
	return true;
}

bool is_prime_unclear(Ctx *c, const Layout *l, const Ast *e) {
	JetVariable jet;
	if (l->ncoords < 2 || !is_jet(c, l, e->prime.operand, &jet)) return false;
	const uint32_t order = e->prime.count <= JET_MAX_ORDER ? e->prime.count : 1;
	const char *text = "";
	for (uint32_t i = 0; i < l->ncoords; i++) {
		JetVariable j = jet;
		j.order[i] = (uint8_t)(j.order[i] + order);
		text = arena_printf(ctx_arena(c), "%s%s`%s`", text, i ? " or " : "",
		                    atom_text(c, jet_name(c, l, &j)));
	}
	diag_error(c, E_PROBLEM_COORD, e->span,
	           "' does not say with respect to which of the %u coordinates; write %s", l->ncoords,
	           text);
	return true;
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
				if (p->pattern->tuple.items[t]->kind == A_NAME)
					VEC_PUSH(a, &k->known, p->pattern->tuple.items[t]->name.name);
		}
		check_names(k, e->function.body);
		k->known.n = e->kind == A_DEF ? mark + 1 : mark;
		return;
	case A_COMPREHENSION:
	case A_BLOCK:
	case A_FOR:
	case A_WHILE:
	case A_TRY:
	/* These bring their own names; evaluation finds their errors. */
	case A_INDEX_DEF: return;
	case A_ASSIGN:
		check_names(k, e->assign.value);
		if (e->assign.target->kind == A_NAME) VEC_PUSH(a, &k->known, e->assign.target->name.name);
		return;
	case A_PRIME:
		if (!is_prime_unclear(ctx_of_session(k->s), k->l, e)) check_names(k, e->prime.operand);
		return;
	case A_CALL:
		if (e->call.callee->kind == A_NAME && e->call.n >= 2 &&
		    !strcmp(atom_text(ctx_of_session(k->s), e->call.callee->name.name), "d") &&
		    is_no_coordinate(k, e))
			return;
		/* a function may be defined after the problem that calls it */
		if (e->call.callee->kind != A_NAME) check_names(k, e->call.callee);
		for (uint32_t i = 0; i < e->call.n; i++) check_names(k, e->call.args[i].value);
		return;
	case A_FIELD:
		if (e->field.base->kind != A_NAME ||
		    !session_module_named(k->s, k->m, e->field.base->name.name))
			check_names(k, e->field.base);
		return;
	default: ast_children(e, check_names, k);
	}
}

/* ---- derivatives in index notation and local functions ------------------- */

/* Index notation and local functions have names of their own, whose derivatives
 * with respect to a coordinate are unknown. */
typedef struct Inside {
	Ctx *c;
	const Layout *l;
	VEC_ATOMS own; /* indices, or parameters of a local function */
	bool function;
} Inside;

static bool mentions_own(const Inside *in, const Ast *e) {
	for (uint32_t i = 0; i < in->own.n; i++)
		if (ast_mentions(e, in->own.at[i])) return true;
	return false;
}

static void inside_visit(void *ud, const Ast *e) {
	Inside *in = ud;
	Arena *a = ctx_arena(in->c);
	const uint32_t mark = in->own.n;
	const bool before = in->function;
	const DerivativeForm d = derivative_of(in->c, in->l, e);
	Layout *own = NULL;
	if (d.kind != DER_NONE && (in->function || in->own.n)) {
		own = ARENA_NEW(a, Layout);
		layout_coords(in->c, own, in->l->e);
		layout_collect(in->c, own, d.operand, LOCATION_INSIDE);
	}
	if (own && in->function && (own->njets || d.kind == DER_BY)) {
		Diag *g =
			diag_error(in->c, E_PROBLEM, e->span,
		               "a derivative inside of a function: what it is of is known only outside");
		diag_hint(in->c, g,
		          "give it a name, q = ..., without parameters, or pass it to the function");
		return;
	}
	if (own && own->njets && mentions_own(in, d.operand)) {
		Diag *g =
			diag_error(in->c, E_PROBLEM, e->span, "a derivative of an expression with an index");
		diag_hint(in->c, g,
		          "derive the whole, and take the index of that: d(v, x)[i], grad(v)[i, j]");
		return;
	}
	if (e->kind == A_COMPREHENSION)
		for (uint32_t i = 0; i < e->comprehension.n; i++)
			for (uint32_t k = 0; k < e->comprehension.clauses[i].n; k++)
				if (e->comprehension.clauses[i].names[k]->kind == A_NAME)
					VEC_PUSH(a, &in->own, e->comprehension.clauses[i].names[k]->name.name);
	if (e->kind == A_LAMBDA || e->kind == A_DEF) {
		in->function = true;
		for (uint32_t i = 0; i < e->function.nparams; i++)
			VEC_PUSH(a, &in->own, e->function.params[i].name);
	}
	ast_children(e, inside_visit, in);
	in->own.n = mark;
	in->function = before;
}

/* ---- the whole problem --------------------------------------------------- */

static void check_place(Ctx *c, const Layout *l, const At *a) {
	if (a->value && a->name) {
		const int k = coord_index(l, a->name);
		const char *name = atom_text(c, a->name);
		if (k < 0)
			diag_error(c, E_PROBLEM_COORD, a->span, "`%s` is not a coordinate of this problem",
			           name);
		else if (!l->coord[k].lo) {
			Diag *d = diag_error(
				c, E_PROBLEM_COORD, a->span,
				"`%s` runs over a region, whose parts have names: `boundary` is all of it", name);
			diag_second(c, d, l->region->span, "the region is here");
		} else if (!same_text(c, a->value, l->coord[k].lo) &&
		           !same_text(c, a->value, l->coord[k].hi)) {
			Diag *d =
				diag_error(c, E_PROBLEM_CONDITION, a->span, "%s = %s is not an end of the domain",
			               name, source_of(c, a->value));
			diag_second(c, d, l->coord[k].span, "`%s` runs from %s to %s", name,
			            source_of(c, l->coord[k].lo), source_of(c, l->coord[k].hi));
		}
		return;
	}
	if (a->value) {
		const uint32_t n = a->value->tuple.n;
		if (n != l->nspace && n != l->ncoords)
			diag_error(c, E_PROBLEM_COORD, a->span,
			           "a point with %u number%s; there %s %u space coordinate%s", n,
			           n == 1 ? "" : "s", l->nspace == 1 ? "is" : "are", l->nspace,
			           l->nspace == 1 ? "" : "s");
		return;
	}
	static const char *const faces[] = {"left", "right", "bottom",  "top",
	                                    "back", "front", "boundary"},
							 *const axes[] = {"first", "second", "third"};
	BoundaryLocation boundaries[MAX_LOCATIONS];
	if (boundary_locations(c, l, a, boundaries)) return;
	const char *name = atom_text(c, a->name);
	if (coord_index(l, a->name) >= 0) {
		Diag *d =
			diag_error(c, E_PROBLEM_COORD, a->span, "a condition holds at an end of `%s`", name);
		const Coordinate *x = &l->coord[coord_index(l, a->name)];
		diag_hint(c, d, "write at %s = %s", name, source_of(c, x->lo));
		return;
	}
	for (uint32_t i = 0; i < 6; i++)
		if (!strcmp(name, faces[i])) {
			diag_error(c, E_PROBLEM_COORD, a->span,
			           "`%s` is an end of the %s space coordinate; there %s %u", name, axes[i / 2],
			           l->nspace == 1 ? "is" : "are", l->nspace);
			return;
		}
	if (!strcmp(name, "boundary")) {
		diag_error(c, E_PROBLEM_COORD, a->span,
		           l->nspace ? "every space coordinate is periodic: there is no boundary"
		                     : "without a space coordinate there is no boundary");
		return;
	}
	const char *best = diag_nearest(name, faces, 7);
	diag_error(c, E_PROBLEM_COORD, a->span, "no part of the boundary is called `%s`%s", name,
	           best ? arena_printf(ctx_arena(c), "; did you mean `%s`?", best) : "");
}

static void check_declared(Ctx *c, const Ast *e, const Layout *l) {
	for (uint32_t i = 0; i < l->ncoords; i++)
		for (uint32_t k = 0; k < i; k++)
			if (l->coord[i].name == l->coord[k].name)
				diag_error(c, E_DUPLICATE, l->coord[i].span, "the coordinate `%s` stands twice",
				           atom_text(c, l->coord[i].name));
	for (uint32_t i = 0; i < e->problem->nfields; i++) {
		const UnknownField *f = &e->problem->fields[i];
		for (uint32_t k = 0; k < i; k++)
			if (f->name == e->problem->fields[k].name)
				diag_error(c, E_DUPLICATE, f->span, "the field `%s` stands twice",
				           atom_text(c, f->name));
		if (coord_index(l, f->name) >= 0)
			diag_error(c, E_DUPLICATE, f->span, "`%s` is both a coordinate and a field",
			           atom_text(c, f->name));
	}
	for (uint32_t i = 0; i < e->problem->nlocals; i++) {
		const Ast *local = e->problem->locals[i];
		const Atom name =
			local->kind == A_DEF ? local->function.name : local->assign.target->name.name;
		const Span at = local->kind == A_DEF ? local->function.head : local->assign.target->span;
		JetVariable j;
		if (jet_of_name(c, l, name, &j))
			diag_error(c, E_DUPLICATE, at,
			           "`%s` is an unknown of this problem, and cannot be given a value",
			           atom_text(c, name));
		else if (coord_index(l, name) >= 0)
			diag_error(c, E_DUPLICATE, at,
			           "`%s` is a coordinate of this problem, and cannot be given a value",
			           atom_text(c, name));
	}
}

static const UnknownField *field_of_parts(const Ast *e) {
	for (uint32_t f = 0; f < e->problem->nfields; f++)
		if (e->problem->fields[f].size) return &e->problem->fields[f];
	return NULL;
}

/* Equations in t alone may be for single components of a field. Their number is
 * known when they are evaluated (reflect.c). */
static bool counts_by_component(const Ast *e, const Layout *l) {
	return field_of_parts(e) && l->time >= 0 && !l->nspace;
}

void session_check_problem(Session *s, Module *m, const Env *around, const Ast *e) {
	Ctx *c = ctx_of_session(s);
	const uint32_t before = diag_count(c, SEV_ERROR);
	Layout *l = ARENA_NEW(ctx_arena(c), Layout);
	layout_inside(c, l, e);
	const char *name = atom_text(c, e->problem->name);
	check_declared(c, e, l);
	const uint32_t unknowns = fields_with_equation(e);
	if (!unknowns)
		diag_error(c, E_PROBLEM, e->problem->name_span,
		           "the problem `%s` has no field: there is nothing to solve for", name);
	uint32_t interior = 0;
	for (uint32_t i = 0; i < e->problem->nequations; i++) {
		const Ast *q = e->problem->equations[i];
		interior += q->equation.nats == 0;
		for (uint32_t k = 0; k < q->equation.nats; k++) check_place(c, l, &q->equation.ats[k]);
	}
	if (interior != unknowns && unknowns && !counts_by_component(e, l) &&
	    diag_count(c, SEV_ERROR) == before) {
		Diag *d = diag_error(c, E_PROBLEM_COUNT, e->problem->name_span,
		                     "%u unknown%s and %u equation%s in `%s`", unknowns,
		                     unknowns == 1 ? "" : "s", interior, interior == 1 ? "" : "s", name);
		for (uint32_t f = 0; f < unknowns; f++) {
			bool seen = false;
			for (uint32_t i = 0; i < l->njets; i++) seen |= l->jets[i].field == f;
			if (!seen) {
				diag_second(c, d, e->problem->fields[f].span, "no equation has `%s`",
				            atom_text(c, e->problem->fields[f].name));
				break;
			}
		}
		const UnknownField *v = interior > unknowns ? field_of_parts(e) : NULL;
		if (v)
			diag_hint(c, d,
			          "the parts of `%s` have one equation between vectors, [..., ...] == [..., "
			          "...]; equations of their own are for fields of their own",
			          atom_text(c, v->name));
	}
	NameCheck names = {.s = s, .m = m, .around = around, .l = l};
	for (uint32_t i = 0; i < e->problem->nparams; i++)
		VEC_PUSH(ctx_arena(c), &names.known, e->problem->params[i].name);
	if (e->problem->eigen) VEC_PUSH(ctx_arena(c), &names.known, e->problem->eigen);
	const bool fine = diag_count(c, SEV_ERROR) == before;
	for (uint32_t i = 0; fine && i < e->problem->nlocals; i++)
		check_names(&names, e->problem->locals[i]);
	for (uint32_t i = 0; fine && i < e->problem->nequations; i++) {
		const uint32_t known = names.known.n;
		if (e->problem->equations[i]->equation.nats)
			VEC_PUSH(ctx_arena(c), &names.known, atom(c, "normal"));
		check_names(&names, e->problem->equations[i]->equation.left);
		check_names(&names, e->problem->equations[i]->equation.right);
		names.known.n = known;
	}
	Inside in = {.c = c, .l = l};
	for (uint32_t i = 0; fine && i < e->problem->nlocals; i++)
		inside_visit(&in, e->problem->locals[i]);
	for (uint32_t i = 0; fine && i < e->problem->nequations; i++)
		inside_visit(&in, e->problem->equations[i]);
	if (diag_count(c, SEV_ERROR) == before) {
		const Givens given = conditions_of(c, e, l);
		if (e->problem->nfields > 1 && has_far_condition(l, &given)) check_between(c, e, l, &given);
		else
			for (uint32_t f = 0; f < unknowns; f++) check_conditions(c, e, l, &given, f);
	}
	if (diag_count(c, SEV_ERROR) != before) ctx_throw(c, ST_ERROR);
}
