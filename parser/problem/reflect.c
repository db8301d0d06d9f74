/* reflect.c - a problem as a record for the methods of the library: domains,
 * jets, residuals, conditions with their locations.
 *
 * Needs: problem.h, structural_index.h.
 *
 * Contract:
 * - The record is that of docs/methods/problems.md.
 * - Nothing is solved here.
 */
#include "parser/problem/residual_values.h"
#include "parser/problem/structural_index.h"

typedef struct Reflection {
	Sp *sp;
	Sp inner; /* for domain ends, locations and sizes, which are expressions over the parameters */
	Av *p;
	const Layout *l;
	Av **sizes;
	bool vectors;
	ProblemResiduals statement;
} Reflection;

static Av *record_of(Sp *sp, uint32_t n, const char *const *labels, Av *const *values) {
	Atom *names = ARENA_ARRAY(sp->a, Atom, n);
	for (uint32_t i = 0; i < n; i++) names[i] = atom(sp->c, labels[i]);
	return av_record(sp, n, names, values);
}

static Av *number(Reflection *r, const Ast *e, const char *what) {
	return av_array(r->sp, sp_scalar(r->sp, sp_expr(&r->inner, e), DT_F64, e->span, what));
}

/* A location as (coord, side, value, name, point). */
static Av *at_record(Reflection *r, const BoundaryLocation *s, Span at) {
	Sp *sp = r->sp;
	static const char *const labels[] = {"coord", "side", "value", "name", "point"};
	Av *value = s->value ? number(r, s->value, "a place") : av_none(sp), *point = av_none(sp);
	if (s->point) {
		const uint32_t n = s->point->tuple.n;
		if (n != r->l->nspace && n != r->l->ncoords)
			sp_fail(sp, E_PROBLEM_COORD, at,
			        "a point with %u number%s; there are %u space coordinates", n,
			        n == 1 ? "" : "s", r->l->nspace);
		Av **items = ARENA_ARRAY(sp->a, Av *, n + 1);
		for (uint32_t i = 0; i < n; i++)
			items[i] = number(r, s->point->tuple.items[i], "the coordinate of a point");
		point = av_seq(sp, AV_TUPLE, n, items);
	}
	return record_of(
		sp, 5, labels,
		(Av *[]){av_int(sp, s->coord), av_int(sp, s->side), value, av_string(sp, s->name), point});
}

/* The number of components of a residual, 0 for a scalar. The residual must be
 * specialised to find it, which is needed only for vectors. */
static uint32_t rows_of(Reflection *r, Av *f, uint32_t location, Span at, Specialisation *spec) {
	Sp *sp = r->sp;
	const Layout *l = r->l;
	if (!r->vectors && !l->nspace) return 0;
	Av **coords = ARENA_ARRAY(sp->a, Av *, l->ncoords + 1),
	   **jets = ARENA_ARRAY(sp->a, Av *, l->njets + 1), *normal[MAX_COORDS];
	Av *one = av_array(sp, sp_const(sp, value_f64(1)));
	for (uint32_t i = 0; i < l->ncoords; i++) coords[i] = one;
	for (uint32_t i = 0; i < l->nspace; i++) normal[i] = one;
	for (uint32_t i = 0; i < l->njets; i++) {
		int64_t m = 0;
		(void)av_static_int(sp, r->sizes[l->jets[i].field], &m);
		const Dim length = dim_const(sp->c, m);
		jets[i] =
			m ? av_array(sp, build_zeros(sp->b, type_tensor(sp->c, DT_F64, 1, &length))) : one;
	}
	Av *args[3] = {av_seq(sp, AV_TUPLE, l->ncoords, coords), av_seq(sp, AV_TUPLE, l->njets, jets),
	               av_seq(sp, AV_TUPLE, l->nspace, normal)};
	Span spans[3] = {at, at, at};
	CallArguments call = {.span = at,
	                      .callee_span = at,
	                      .n = location == LOCATION_PART ? 3 : 2,
	                      .args = args,
	                      .spans = spans};
	const Specialisation s = sp_specialise(sp, f, &call);
	*spec = s;
	if (s.promised || !s.result || s.result->kind != AV_ARRAY) return 0;
	const Type t = *ref_ty(s.fn, fn_result(s.fn, 0));
	if (t.rank > 1)
		sp_fail(
			sp, E_SHAPE, at,
			"an equation is between numbers or between vectors, not between arrays with %u axes",
			t.rank);
	int64_t rows = 0;
	SymId symbol;
	/* A symbolic extent is that of the field it belongs to. */
	if (t.rank && !dim_is_const(sp->c, t.dims[0], &rows) && dim_is_sym(sp->c, t.dims[0], &symbol)) {
		for (uint32_t i = 0; i < s.nargs; i++) {
			const Type has = *ref_ty(s.fn, fn_param(s.fn, i));
			if (has.rank == 1 && has.dims[0] == t.dims[0])
				(void)dim_is_const(sp->c, ref_ty(build_fn(sp->b), s.args[i])->dims[0], &rows);
		}
	}
	return (uint32_t)rows;
}

/* Splits the jets of an equation at a location into those that occur only in
 * linear terms with constant factors, and the others. */
static void split_jets(Reflection *r, const Ast *q, uint32_t location, Av **linear,
                       Av **nonlinear) {
	Sp *sp = r->sp;
	Layout *all = ARENA_NEW(sp->a, Layout), *other = ARENA_NEW(sp->a, Layout);
	layout_coords(sp->c, all, r->l->e);
	layout_collect(sp->c, all, q->equation.left, location);
	layout_collect(sp->c, all, q->equation.right, location);
	layout_nonlinear(sp->c, other, r->l->e, q, location);
	VEC_AVS in = {0}, out = {0};
	for (uint32_t k = 0; k < r->l->njets; k++) {
		if (jet_find(all, &r->l->jets[k]) < 0) continue;
		if (jet_find(other, &r->l->jets[k]) < 0) VEC_PUSH(sp->a, &in, av_int(sp, k));
		else VEC_PUSH(sp->a, &out, av_int(sp, k));
	}
	*linear = av_seq(sp, AV_TUPLE, in.n, in.at);
	*nonlinear = av_seq(sp, AV_TUPLE, out.n, out.at);
}

/* The residual of an equation with its location, its jets and its text. linear
 * and nonlinear: the two groups of split_jets at that location. */
static Av *equation_record(Reflection *r, const Ast *q, const BoundaryLocation *boundary,
                           const At *at, Av *mentioned, bool *mentions, Av *said) {
	Sp *sp = r->sp;
	static const char *const labels[] = {"residual", "at",        "jets",  "text",   "rows",
	                                     "linear",   "nonlinear", "terms", "fluxes", "by_fluxes"};
	const uint32_t location = boundary ? boundary->location : LOCATION_INSIDE;
	Av *linear, *nonlinear;
	split_jets(r, q, location, &linear, &nonlinear);
	Av *f = problem_expression(sp, r->p, q, location, NULL);
	Residual one = {.q = q, .at = at, .f = f, .mentions = mentions};
	if (boundary) one.boundary = *boundary;
	one.rows = rows_of(r, f, location, q->span, &one.spec);
	VEC_PUSH(sp->a, &r->statement.residuals, one);
	Av *terms = boundary ? av_none(sp) : problem_terms(sp, r->p, r->l, q);
	Av *by = av_none(sp), *fluxes = boundary ? av_seq(sp, AV_TUPLE, 0, NULL)
	                                         : problem_jumps(sp, r->p, r->l, r->sizes, q, &by);
	return record_of(sp, 10, labels,
	                 (Av *[]){f, boundary ? at_record(r, boundary, at->span) : av_none(sp),
	                          mentioned, said, av_int(sp, one.rows), linear, nonlinear, terms,
	                          fluxes, by});
}

/* How often each equation of a problem in one coordinate must be differentiated
 * for the system to become one of ordinary differential equations. */
static Av *structure_record(Sp *sp, uint32_t nf, const int *order) {
	static const char *const labels[] = {"turns", "orders", "left"};
	int *c = ARENA_ARRAY(sp->a, int, 2 * nf + 1), *d = c + nf;
	uint32_t left = 0;
	const bool fine = structure_offsets(sp->a, nf, order, c, d, &left);
	Av **cs = ARENA_ARRAY(sp->a, Av *, 2 * nf + 1), **ds = cs + nf;
	for (uint32_t i = 0; i < nf; i++) {
		cs[i] = av_int(sp, fine ? c[i] : 0);
		ds[i] = av_int(sp, fine ? d[i] : 0);
	}
	return record_of(sp, 3, labels,
	                 (Av *[]){av_seq(sp, AV_TUPLE, nf, cs), av_seq(sp, AV_TUPLE, nf, ds),
	                          av_int(sp, fine ? -1 : (int64_t)left)});
}

static Av *events_of(Reflection *r) {
	Sp *sp = r->sp;
	const Ast *e = r->l->e;
	static const char *const labels[] = {"name", "expr", "direction", "update", "terminal"};
	VEC_AVS events = {0};
	for (uint32_t i = 0; i < e->problem->nevents; i++) {
		const Event *ev = &e->problem->events[i];
		Av *body = ev->body ? problem_body(sp, r->p, ev->body) : av_none(sp);
		Av *one = record_of(sp, 5, labels,
		                    (Av *[]){av_string(sp, atom_text(sp->c, ev->name)),
		                             problem_expression(sp, r->p, ev->expr, LOCATION_INSIDE, NULL),
		                             av_int(sp, ev->direction), body, av_bool(sp, ev->terminal)});
		VEC_PUSH(sp->a, &events, one);
	}
	return av_seq(sp, AV_TUPLE, events.n, events.at);
}

/* A bound of a region: the i-th item of the field lo or hi of its value, for
 * the i-th coordinate. */
static Av *bound_of(Reflection *r, Av *region, const char *end, uint32_t i, Span at) {
	Sp *sp = r->sp;
	Av *bounds = region->kind == AV_RECORD ? av_field(region, atom(sp->c, end)) : NULL;
	if (!bounds)
		sp_fail(sp, E_PROBLEM, at,
		        "this is %s, not a region: box, disk, polygon and their kin make one",
		        sp_type_text(sp, region));
	Av *index = av_int(sp, i);
	return av_array(sp, sp_scalar(sp, sp_index_values(sp, bounds, 1, &index, &at, at), DT_F64, at,
	                              "the end of a region"));
}

static bool static_number(Sp *sp, const Av *v, double *out) {
	const Const *k =
		v->kind == AV_ARRAY && ref_is_const(v->ref) ? ref_constant(build_fn(sp->b), v->ref) : NULL;
	return k && value_as_f64(k->value, out);
}

/* True for a scalar equation; false for a vector of unknown extent. */
static bool is_number(const Residual *r) {
	return r->spec.fn && !r->spec.promised && r->spec.result->kind == AV_ARRAY &&
	       !ref_ty(r->spec.fn, fn_result(r->spec.fn, 0))->rank;
}

/* Checks a problem in space as a whole. Returns its type in words, "" if none
 * was found. */
static const char *check_statement(Reflection *r, Av *const *lo, Av *const *hi) {
	const Layout *l = r->l;
	ProblemResiduals *s = &r->statement;
	s->sp = r->sp;
	s->l = l;
	s->checking = r->sp->top != NULL;
	s->bounded = true;
	for (uint32_t i = 0; i < l->ncoords; i++)
		s->bounded &=
			static_number(r->sp, lo[i], &s->lo[i]) && static_number(r->sp, hi[i], &s->hi[i]);
	s->sizes = ARENA_ARRAY(r->sp->a, int64_t, l->e->problem->nfields + 1);
	s->offset = ARENA_ARRAY(r->sp->a, uint32_t, l->njets + 1);
	for (uint32_t i = 0; i < l->e->problem->nfields; i++)
		if (!av_static_int(r->sp, r->sizes[i], &s->sizes[i])) return "";
	if (!l->nspace) {
		/* check.c has counted that there are as many equations as fields. */
		uint32_t inside = 0;
		for (uint32_t i = 0; i < s->residuals.n; i++) inside += !s->residuals.at[i].at;
		const uint32_t before = diag_count(r->sp->c, SEV_ERROR);
		bool numbers = r->vectors; /* there are vectors, and all equations are scalar */
		for (uint32_t i = 0; i < s->residuals.n; i++)
			numbers &= s->residuals.at[i].at || is_number(&s->residuals.at[i]);
		if (numbers || inside != l->e->problem->nfields) statement_counts(s);
		if (diag_count(r->sp->c, SEV_ERROR) != before) sp_throw(r->sp);
		return "";
	}
	for (uint32_t i = 0; i < l->njets; i++) {
		s->offset[i] = s->total;
		s->total += statement_parts(s, l->jets[i].field);
	}
	statement_check(s);
	return s->type;
}

/* A part of a region's boundary must have a name that the region's value
 * lists. */
static void check_part(Reflection *r, Av *region, const At *at) {
	Sp *sp = r->sp;
	Av *names = region->kind == AV_RECORD ? av_field(region, atom(sp->c, "names")) : NULL;
	const char *name = atom_text(sp->c, at->name), *known[32];
	if (!names || !strcmp(name, "boundary") ||
	    (names->kind != AV_LIST && names->kind != AV_TUPLE) || names->n > 32)
		return;
	for (uint32_t i = 0; i < names->n; i++) {
		if (names->items[i]->kind != AV_STRING) return;
		known[i] = atom_text(sp->c, names->items[i]->text);
		if (!strcmp(known[i], name)) return;
	}
	const char *best = diag_nearest(name, known, names->n);
	Diag *d = diag_error(sp->c, E_PROBLEM_COORD, at->span,
	                     "no part of the boundary of this region is called `%s`%s", name,
	                     best ? arena_printf(sp->a, "; did you mean `%s`?", best) : "");
	diag_second(sp->c, d, r->l->region->span, "the region is here");
	sp_throw(sp);
}

Av *problem_reflect(Sp *sp, Av *p) {
	Layout *l = ARENA_NEW(sp->a, Layout);
	layout_of(sp->c, l, p->code);
	const Ast *e = l->e;
	Reflection r = {.sp = sp, .inner = *sp, .p = p, .l = l};
	r.inner.env = env_new(&r.inner, NULL);
	r.inner.module = session_module_of(sp->session, e->span.source);
	r.inner.self = p;
	r.inner.problem = NULL;
	for (uint32_t i = 0; i < p->n; i++) env_set(&r.inner, r.inner.env, p->names[i], p->items[i]);
	Av *coords[MAX_COORDS], *lo[MAX_COORDS], *hi[MAX_COORDS], *periodic[MAX_COORDS],
		*space[MAX_COORDS];
	Av *region = l->region ? sp_expr(&r.inner, l->region->region) : av_none(sp);
	for (uint32_t i = 0, k = 0; i < l->ncoords; i++) {
		const Coordinate *x = &l->coord[i];
		coords[i] = av_string(sp, atom_text(sp->c, x->name));
		lo[i] = x->lo ? number(&r, x->lo, "the end of a domain")
		              : bound_of(&r, region, "lo", k, x->domain->region->span);
		hi[i] = x->lo ? number(&r, x->hi, "the end of a domain")
		              : bound_of(&r, region, "hi", k++, x->domain->region->span);
		periodic[i] = av_bool(sp, x->periodic);
	}
	for (uint32_t i = 0; i < l->nspace; i++) space[i] = av_int(sp, l->space[i]);
	const uint32_t nf = e->problem->nfields;
	Av **fields = ARENA_ARRAY(sp->a, Av *, nf + 1);
	r.sizes = ARENA_ARRAY(sp->a, Av *, nf + 1);
	for (uint32_t i = 0; i < nf; i++) {
		fields[i] = av_string(sp, atom_text(sp->c, e->problem->fields[i].name));
		const Ast *size = e->problem->fields[i].size;
		const int64_t n =
			size ? sp_want_int(sp, sp_expr(&r.inner, size), size->span, "the size of a field") : 0;
		if (size && n < 1) sp_fail(sp, E_PROBLEM, size->span, "a field has at least one component");
		r.sizes[i] = av_int(sp, n);
		r.vectors |= n > 0;
	}
	Av **jets = ARENA_ARRAY(sp->a, Av *, l->njets + 1);
	for (uint32_t i = 0; i < l->njets; i++) {
		Av *parts[MAX_COORDS + 1] = {av_int(sp, l->jets[i].field)};
		for (uint32_t k = 0; k < l->ncoords; k++) parts[1 + k] = av_int(sp, l->jets[i].order[k]);
		jets[i] = av_seq(sp, AV_TUPLE, l->ncoords + 1, parts);
	}
	VEC_AVS equations = {0}, conditions = {0};
	/* The order of each field in the only coordinate, in each equation. */
	int *order = ARENA_ARRAY(sp->a, int, (size_t)nf *nf + 1);
	for (uint32_t i = 0; i < nf * nf; i++) order[i] = -1;
	Layout *own = ARENA_NEW(sp->a, Layout);
	for (uint32_t i = 0; i < e->problem->nequations; i++) {
		const Ast *q = e->problem->equations[i];
		Av *said = av_string(sp, source_of(sp->c, q));
		layout_of_equation(sp->c, own, e, q);
		VEC_AVS used = {0}; /* the jets of this equation */
		bool *mentions = ARENA_ARRAY(sp->a, bool, l->njets + 1);
		for (uint32_t k = 0; k < l->njets; k++) {
			mentions[k] = jet_find(own, &l->jets[k]) >= 0;
			if (mentions[k]) VEC_PUSH(sp->a, &used, av_int(sp, k));
		}
		Av *mentioned = av_seq(sp, AV_TUPLE, used.n, used.at);
		for (uint32_t m = 0; !q->equation.nats && equations.n < nf && m < own->njets; m++) {
			int *of = &order[equations.n * nf + own->jets[m].field];
			if (own->jets[m].order[0] > *of) *of = own->jets[m].order[0];
		}
		if (!q->equation.nats)
			VEC_PUSH(sp->a, &equations,
			         equation_record(&r, q, NULL, NULL, mentioned, mentions, said));
		for (uint32_t k = 0; k < q->equation.nats; k++) {
			BoundaryLocation boundaries[MAX_LOCATIONS];
			const uint32_t n = boundary_locations(sp->c, l, &q->equation.ats[k], boundaries);
			if (n == 1 && boundaries[0].location == LOCATION_PART)
				check_part(&r, region, &q->equation.ats[k]);
			for (uint32_t m = 0; m < n; m++)
				VEC_PUSH(sp->a, &conditions,
				         equation_record(&r, q, &boundaries[m], &q->equation.ats[k], mentioned,
				                         mentions, said));
		}
	}
	const char *type = check_statement(&r, lo, hi);
	static const char *const labels[] = {"problem",   "name",  "coords",    "lo",         "hi",
	                                     "periodic",  "time",  "space",     "region",     "fields",
	                                     "sizes",     "jets",  "equations", "conditions", "events",
	                                     "structure", "eigen", "type",      "text"};
	Av *values[] = {p,
	                av_string(sp, atom_text(sp->c, e->problem->name)),
	                av_seq(sp, AV_TUPLE, l->ncoords, coords),
	                av_seq(sp, AV_TUPLE, l->ncoords, lo),
	                av_seq(sp, AV_TUPLE, l->ncoords, hi),
	                av_seq(sp, AV_TUPLE, l->ncoords, periodic),
	                av_int(sp, l->time),
	                av_seq(sp, AV_TUPLE, l->nspace, space),
	                region,
	                av_seq(sp, AV_TUPLE, nf, fields),
	                av_seq(sp, AV_TUPLE, nf, r.sizes),
	                av_seq(sp, AV_TUPLE, l->njets, jets),
	                av_seq(sp, AV_TUPLE, equations.n, equations.at),
	                av_seq(sp, AV_TUPLE, conditions.n, conditions.at),
	                events_of(&r),
	                l->ncoords == 1 && equations.n == nf ? structure_record(sp, nf, order)
	                                                     : av_none(sp),
	                av_string(sp, e->problem->eigen ? atom_text(sp->c, e->problem->eigen) : ""),
	                av_string(sp, type),
	                av_string(sp, source_of(sp->c, e))};
	return record_of(sp, sizeof labels / sizeof labels[0], labels, values);
}
