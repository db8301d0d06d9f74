/* jets.c - the derivatives that the equations of a problem need, and the
 * locations of its conditions.
 *
 * Needs: problem.h.
 *
 * Contract:
 * - The analysis is purely syntactic.
 * - It finds at least the jets that evaluation requests. An expression under a
 *   derivative needs the jets of the product rule; under a divergence, those of
 *   the differentiated component.
 */
#include "parser/problem/problem.h"

/* ---- names --------------------------------------------------------------- */

int coord_index(const Layout *l, Atom name) {
	for (uint32_t i = 0; i < l->ncoords; i++)
		if (l->coord[i].name == name) return (int)i;
	return -1;
}

int field_index(const Layout *l, Atom name) {
	for (uint32_t i = 0; i < l->e->problem->nfields; i++)
		if (l->e->problem->fields[i].name == name) return (int)i;
	return -1;
}

bool coord_is_time(const Layout *l, uint32_t i) { return (int)i == l->time; }

uint32_t fields_with_equation(const Ast *e) {
	return e->problem->nfields - (e->problem->eigen_apart ? 1 : 0);
}

bool jet_of_name(Ctx *c, const Layout *l, Atom name, JetVariable *jet) {
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
				const char *coord = atom_text(c, l->coord[k].name);
				size_t m = strlen(coord);
				if (m > best && !strncmp(p, coord, m)) {
					best = m;
					which = (int)k;
				}
			}
			if (which < 0 || jet->order[which] >= JET_MAX_ORDER) break;
			jet->order[which]++;
			p += best;
		}
		if (!*p) return true;
	}
	return false;
}

/* The name of a jet, such as u_xt. */
Atom jet_name(Ctx *c, const Layout *l, const JetVariable *j) {
	const char *text = atom_text(c, l->e->problem->fields[j->field].name);
	bool any = false;
	for (uint32_t k = 0; k < l->ncoords; k++)
		for (uint32_t i = 0; i < j->order[k]; i++, any = true)
			text = arena_printf(ctx_arena(c), any ? "%s%s" : "%s_%s", text,
			                    atom_text(c, l->coord[k].name));
	return atom(c, text);
}

const Ast *local_named(const Layout *l, Atom name) {
	for (uint32_t i = 0; i < l->e->problem->nlocals; i++) {
		const Ast *local = l->e->problem->locals[i];
		if (local->kind == A_DEF ? local->function.name == name
		                         : local->assign.target->name.name == name)
			return local;
	}
	return NULL;
}

static bool is_parameter(const Layout *l, Atom name) {
	for (uint32_t i = 0; i < l->e->problem->nparams; i++)
		if (l->e->problem->params[i].name == name) return true;
	return false;
}

const char *source_of(Ctx *c, const Ast *e) {
	size_t n;
	const char *text = source_text(c, e->span.source, &n);
	return arena_copy(ctx_arena(c), text + e->span.start, e->span.end - e->span.start);
}

bool same_text(Ctx *c, const Ast *x, const Ast *y) {
	double a, b;
	const Ast *xs = x, *ys = y;
	double sx = 1, sy = 1;
	if (xs->kind == A_UNARY && xs->op == AO_NEG) xs = xs->unary.operand, sx = -1;
	if (ys->kind == A_UNARY && ys->op == AO_NEG) ys = ys->unary.operand, sy = -1;
	if (xs->kind == A_CONST && ys->kind == A_CONST && value_as_f64(xs->constant.value, &a) &&
	    value_as_f64(ys->constant.value, &b))
		return sx * a == sy * b;
	return !strcmp(source_of(c, x), source_of(c, y));
}

const char *ordinal(uint32_t n) {
	static const char *const words[] = {"zeroth", "first", "second", "third",
	                                    "fourth", "fifth", "sixth"};
	return n < 7 ? words[n] : "higher";
}

/* ---- jets ---------------------------------------------------------------- */

int jet_find(const Layout *l, const JetVariable *j) {
	for (uint32_t i = 0; i < l->njets; i++)
		if (l->jets[i].field == j->field && !memcmp(l->jets[i].order, j->order, sizeof j->order))
			return (int)i;
	return -1;
}

static void add_jet(Layout *l, const JetVariable *j) {
	if (jet_find(l, j) < 0 && l->njets < MAX_JETS) l->jets[l->njets++] = *j;
}

/* Adds a jet and, if it is shifted, those that the product rule passes
 * through. */
static void collect_jet(JetCollector *n, const JetVariable *j) {
	uint8_t k[MAX_COORDS] = {0};
	while (n->l->njets < MAX_JETS) { /* too many: evaluation reports it */
		JetVariable one = *j;
		for (int i = 0; i < MAX_COORDS; i++) one.order[i] = (uint8_t)(one.order[i] + k[i]);
		add_jet(n->l, &one);
		int i = 0;
		while (i < MAX_COORDS && k[i] == n->shift[i]) k[i++] = 0;
		if (i == MAX_COORDS) return;
		k[i]++;
	}
}

static DerivativeForm of_kind(DerivativeKind kind, const Ast *operand) {
	return (DerivativeForm){.kind = kind, .operand = operand, .order = 1};
}

bool is_jet(Ctx *c, const Layout *l, const Ast *e, JetVariable *jet) {
	return e->kind == A_NAME && !local_named(l, e->name.name) &&
	       jet_of_name(c, l, e->name.name, jet);
}

DerivativeForm derivative_of(Ctx *c, const Layout *l, const Ast *e) {
	const DerivativeForm none = {.kind = DER_NONE};
	JetVariable jet;
	if (e->kind == A_BINARY && e->op == AO_DOT) {
		DerivativeForm right = derivative_of(c, l, e->binary.right);
		if (right.kind != DER_GRAD || e->binary.right->paren) return none;
		right.kind = DER_ALONG;
		right.along = e->binary.left;
		return right;
	}
	if (e->kind == A_PRIME && l->ncoords == 1 && is_jet(c, l, e->prime.operand, &jet)) {
		DerivativeForm by = of_kind(DER_BY, e->prime.operand);
		by.order = e->prime.count <= JET_MAX_ORDER ? e->prime.count : JET_MAX_ORDER + 1;
		return by;
	}
	if (e->kind != A_CALL || e->call.callee->kind != A_NAME || e->call.n < 1 || e->call.n > 3)
		return none;
	const Atom callee = e->call.callee->name.name;
	for (uint32_t i = 0; i < e->call.n; i++)
		if (e->call.args[i].name || e->call.args[i].spread) return none;
	const char *name = atom_text(c, callee);
	const Ast *operand = e->call.args[0].value;
	if (is_parameter(l, callee) || local_named(l, callee)) return none;
	int64_t order = 1;
	const bool by = !strcmp(name, "d") && e->call.n >= 2,
			   normal = !strcmp(name, "dn") && e->call.n <= 2;
	if (by || normal) {
		const uint32_t counted = by ? 3 : 2;
		if (e->call.n == counted) {
			const Ast *o = e->call.args[counted - 1].value;
			if (o->kind != A_CONST || !value_as_i64(o->constant.value, &order) || order < 1 ||
			    order > 16)
				return none;
		}
		DerivativeForm r = of_kind(by ? DER_BY : DER_NORMAL, operand);
		r.order = (uint32_t)order;
		if (normal) return r;
		if (e->call.args[1].value->kind != A_NAME) return none;
		const int coord = coord_index(l, e->call.args[1].value->name.name);
		if (coord < 0) return none;
		r.coord = (uint32_t)coord;
		return r;
	}
	if (e->call.n != 1) return none;
	if (!strcmp(name, "lap")) return of_kind(DER_LAP, operand);
	const DerivativeKind kind = !strcmp(name, "grad")   ? DER_GRAD
	                            : !strcmp(name, "div")  ? DER_DIV
	                            : !strcmp(name, "curl") ? DER_CURL
	                                                    : DER_NONE;
	return kind == DER_NONE || operand->kind == A_LAMBDA ? none : of_kind(kind, operand);
}

static void collect_visit(void *ud, const Ast *e);

/* Collects the jets of the component `part` of e, under `order` more
 * derivatives with respect to a coordinate. */
static void collect_under(JetCollector *n, const Ast *e, uint32_t coord, uint32_t order, int part) {
	const int before = n->part;
	JetVariable j;
	if (n->shift[coord] + order > JET_MAX_ORDER) n->l->njets = MAX_JETS;
	if (n->l->njets == MAX_JETS) return;
	/* The derivative of a jet is a jet. */
	if (is_jet(n->c, n->l, e, &j)) {
		j.order[coord] = (uint8_t)(j.order[coord] + order);
		collect_jet(n, &j);
		return;
	}
	n->shift[coord] = (uint8_t)(n->shift[coord] + order);
	n->part = part;
	collect_visit(n, e);
	n->part = before;
	n->shift[coord] = (uint8_t)(n->shift[coord] - order);
}

static void collect_whole(JetCollector *n, const Ast *e) {
	const int before = n->part;
	n->part = -1;
	collect_visit(n, e);
	n->part = before;
}

static void collect_derivative(JetCollector *n, const DerivativeForm *d) {
	const Layout *l = n->l;
	const int part = n->part;
	switch (d->kind) {
	case DER_BY: collect_under(n, d->operand, d->coord, d->order, part); return;
	case DER_NORMAL:
		if (location_kind(n->location) == LOCATION_FACE)
			collect_under(n, d->operand, location_coord(n->location), d->order, part);
		else if (location_kind(n->location) == LOCATION_PART)
			for (uint32_t i = 0; i < l->nspace; i++) {
				if (d->order == 1) collect_under(n, d->operand, l->space[i], 1, part);
				/* Higher orders are rejected (residual.c). */
				for (uint32_t k = 0; d->order == 2 && k < l->nspace; k++) {
					n->shift[l->space[i]]++;
					collect_under(n, d->operand, l->space[k], 1, part);
					n->shift[l->space[i]]--;
				}
			}
		return;
	case DER_ALONG: collect_whole(n, d->along); /* fall through */
	case DER_GRAD:
		for (uint32_t i = 0; i < l->nspace; i++)
			if (d->kind == DER_ALONG) collect_under(n, d->operand, l->space[i], 1, part);
			else if (part < 0 || part == (int)i) collect_under(n, d->operand, l->space[i], 1, -1);
		return;
	case DER_DIV:
		for (uint32_t i = 0; i < l->nspace; i++)
			collect_under(n, d->operand, l->space[i], 1, (int)i);
		return;
	case DER_CURL:
		for (uint32_t i = 0; i < l->nspace; i++)
			for (uint32_t k = 0; k < l->nspace; k++)
				if (i != k) collect_under(n, d->operand, l->space[i], 1, (int)k);
		return;
	case DER_LAP:
		for (uint32_t i = 0; i < l->nspace; i++) collect_under(n, d->operand, l->space[i], 2, part);
		return;
	case DER_NONE: return;
	}
}

static void collect_visit(void *ud, const Ast *e) {
	JetCollector *n = ud;
	if (n->depth > 64) return;
	if (++n->visits > MAX_VISITS) {
		n->l->entangled = true;
		n->l->njets = MAX_JETS;
	}
	if (n->l->njets == MAX_JETS) return;
	const DerivativeForm d = derivative_of(n->c, n->l, e);
	if (d.kind != DER_NONE) {
		n->depth++;
		collect_derivative(n, &d);
		n->depth--;
		return;
	}
	switch ((AstKind)e->kind) {
	case A_NAME: {
		const Ast *local = local_named(n->l, e->name.name);
		JetVariable j;
		if (local) {
			n->depth++;
			if (local->kind == A_ASSIGN) collect_visit(n, local->assign.value);
			else collect_whole(n, local->function.body);
			n->depth--;
		} else if (jet_of_name(n->c, n->l, e->name.name, &j)) collect_jet(n, &j);
		return;
	}
	case A_BINARY:
		if (e->op == AO_ADD || e->op == AO_SUB || e->op == AO_MUL || e->op == AO_DIV ||
		    e->op == AO_POW) {
			collect_visit(n, e->binary.left);
			collect_visit(n, e->binary.right);
			return;
		}
		break;
	case A_UNARY: collect_visit(n, e->unary.operand); return;
	default: break;
	}
	const int before = n->part;
	n->part = -1;
	ast_children(e, collect_visit, n);
	n->part = before;
}

void layout_collect(Ctx *c, Layout *l, const Ast *e, uint32_t location) {
	JetCollector n = {.c = c, .l = l, .location = location, .part = -1};
	collect_visit(&n, e);
}

/* ---- layout -------------------------------------------------------------- */

/* The intervals of box([a, b], [c, d]), or NULL. */
static Ast *const *box_sides(Ctx *c, const Domain *d, uint32_t *n) {
	const Ast *r = d->region;
	if (!r || r->kind != A_CALL || r->call.callee->kind != A_NAME ||
	    strcmp(atom_text(c, r->call.callee->name.name), "box"))
		return NULL;
	Ast **sides = ARENA_ARRAY(ctx_arena(c), Ast *, 2 * r->call.n + 1);
	for (uint32_t i = 0; i < r->call.n; i++) {
		const Ast *pair = r->call.args[i].value;
		if (r->call.args[i].name || pair->kind != A_TENSOR || pair->tensor.nrows != 1 ||
		    pair->tensor.n != 2)
			return NULL;
		sides[2 * i] = pair->tensor.items[0];
		sides[2 * i + 1] = pair->tensor.items[1];
	}
	*n = r->call.n;
	return sides;
}

static _Noreturn void malformed(Ctx *c, Span at, const char *what) {
	diag_error(c, E_PROBLEM, at, "%s", what);
	ctx_throw(c, ST_ERROR);
}

void layout_coords(Ctx *c, Layout *l, const Ast *e) {
	memset(l, 0, sizeof *l);
	l->e = e;
	l->time = -1;
	for (uint32_t i = 0; i < e->problem->ndomains; i++) {
		const Domain *d = &e->problem->domains[i];
		uint32_t nsides = 0;
		Ast *const *sides = box_sides(c, d, &nsides);
		if (sides && nsides != d->ncoords)
			malformed(c, d->region->span,
			          arena_printf(ctx_arena(c), "a box of %u interval%s for %u coordinate%s",
			                       nsides, nsides == 1 ? "" : "s", d->ncoords,
			                       d->ncoords == 1 ? "" : "s"));
		if (d->kind == DOMAIN_REGION && !sides) {
			if (l->region) malformed(c, d->region->span, "a problem has one region");
			if (d->periodic) malformed(c, d->span, "`periodic` is for intervals and boxes");
			l->region = d;
		}
		for (uint32_t k = 0; k < d->ncoords; k++) {
			if (l->ncoords == MAX_COORDS)
				malformed(c, d->span,
				          arena_printf(ctx_arena(c), "more than %d coordinates", MAX_COORDS));
			Coordinate *x = &l->coord[l->ncoords];
			*x = (Coordinate){
				.name = d->coords[k], .span = d->spans[k], .domain = d, .periodic = d->periodic};
			x->lo = d->kind == DOMAIN_INTERVAL ? d->lo : sides ? sides[2 * k] : NULL;
			x->hi = d->kind == DOMAIN_INTERVAL ? d->hi : sides ? sides[2 * k + 1] : NULL;
			/* A circle has no start: a periodic t is a coordinate like those of
			 * space. */
			if (l->time < 0 && !x->periodic && !strcmp(atom_text(c, x->name), "t")) {
				if (!x->lo)
					malformed(c, x->span, "the time `t` runs over an interval, not over a region");
				l->time = (int)l->ncoords;
			} else l->space[l->nspace++] = l->ncoords;
			l->ncoords++;
		}
	}
}

static void collect_equation(Ctx *c, Layout *l, const Ast *q) {
	BoundaryLocation boundaries[MAX_LOCATIONS];
	for (uint32_t k = 0; k < (q->equation.nats ? q->equation.nats : 1); k++) {
		const uint32_t n =
			q->equation.nats ? boundary_locations(c, l, &q->equation.ats[k], boundaries) : 1;
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t location = q->equation.nats ? boundaries[i].location : LOCATION_INSIDE;
			layout_collect(c, l, q->equation.left, location);
			layout_collect(c, l, q->equation.right, location);
		}
	}
}

void layout_of(Ctx *c, Layout *l, const Ast *e) {
	layout_coords(c, l, e);
	const uint32_t nf = fields_with_equation(e);
	for (uint32_t f = 0; f < nf; f++) add_jet(l, &(JetVariable){.field = f});
	for (uint32_t i = 0; i < e->problem->nequations; i++)
		collect_equation(c, l, e->problem->equations[i]);
	for (uint32_t i = 0; i < e->problem->nevents; i++)
		layout_collect(c, l, e->problem->events[i].expr, LOCATION_INSIDE);
	if (e->problem->eigen_apart) { /* the eigenvalue is a scalar and the last field */
		uint32_t n = 0;
		for (uint32_t i = 0; i < l->njets; i++)
			if (l->jets[i].field != nf) l->jets[n++] = l->jets[i];
		l->njets = n;
		add_jet(l, &(JetVariable){.field = nf});
	}
	if (l->entangled)
		malformed(c, e->problem->name_span,
		          "definitions and derivatives stand within each other too many times");
	if (l->njets == MAX_JETS)
		malformed(c, e->problem->name_span,
		          arena_printf(ctx_arena(c), "more than %d different derivatives", MAX_JETS - 1));
}

void layout_of_equation(Ctx *c, Layout *l, const Ast *e, const Ast *q) {
	layout_coords(c, l, e);
	collect_equation(c, l, q);
}

void layout_inside(Ctx *c, Layout *l, const Ast *e) {
	layout_coords(c, l, e);
	for (uint32_t i = 0; i < e->problem->nequations; i++)
		if (!e->problem->equations[i]->equation.nats)
			collect_equation(c, l, e->problem->equations[i]);
}

/* ---- locations ----------------------------------------------------------- */

static BoundaryLocation face_of(const Layout *l, uint32_t coord, int side, const char *name) {
	const Coordinate *x = &l->coord[coord];
	return (BoundaryLocation){.location = location_face(coord, (uint32_t)side),
	                          .coord = (int)coord,
	                          .side = side,
	                          .value = side ? x->hi : x->lo,
	                          .name = name};
}

uint32_t boundary_locations(Ctx *c, const Layout *l, const At *at, BoundaryLocation *out) {
	uint32_t n = 0;
	if (at->value && at->name) {
		const int coord = coord_index(l, at->name);
		if (coord < 0) return 0;
		const Coordinate *x = &l->coord[coord];
		const int side = !x->lo                           ? -1
		                 : same_text(c, at->value, x->lo) ? 0
		                 : same_text(c, at->value, x->hi) ? 1
		                                                  : -1;
		const bool face = side >= 0 && coord != l->time;
		out[n++] = (BoundaryLocation){
			.location = face ? location_face((uint32_t)coord, (uint32_t)side) : LOCATION_POINT,
			.coord = coord,
			.side = side,
			.value = at->value,
			.name = ""};
		return n;
	}
	if (at->value) {
		out[n++] = (BoundaryLocation){
			.location = LOCATION_POINT, .coord = -1, .side = -1, .name = "", .point = at->value};
		return n;
	}
	static const char *const faces[] = {"left", "right", "bottom", "top", "back", "front"};
	const char *name = atom_text(c, at->name);
	const bool boundary = !strcmp(name, "boundary");
	for (uint32_t i = 0; boundary && i < l->nspace; i++)
		for (int side = 0; side < 2; side++)
			if (l->coord[l->space[i]].lo && !l->coord[l->space[i]].periodic)
				out[n++] = face_of(l, l->space[i], side, name);
	for (uint32_t i = 0; i < 6; i++)
		if (!strcmp(name, faces[i]) && i / 2 < l->nspace && l->coord[l->space[i / 2]].lo)
			out[n++] = face_of(l, l->space[i / 2], (int)(i % 2), name);
	if (l->region && (boundary || !n))
		out[n++] =
			(BoundaryLocation){.location = LOCATION_PART, .coord = -1, .side = -1, .name = name};
	return n;
}
