/* jumps.c - derivatives of operands that may jump, where the product rule loses
 * a part of the equation.
 *
 * Needs: problem.h, lang/passes/smoothness.h.
 *
 * Contract:
 * - The rules of calculus give a derivative of order n if its operand provably
 *   has n derivatives that are functions: it is smooth, or it is continuous
 *   with kinks and n is 1.
 * - All other derivatives are returned with their flux, so that a method takes
 *   differences of the flux. ∂x(k*∂x(u)) with a k that jumps is one. k*u_xx
 *   with such a k is not; it is another equation.
 */
#include "parser/problem/problem.h"

#include "lang/passes/smoothness.h"

typedef VEC(Handed) VEC_HANDED;

typedef struct JumpTerms {
	Sp *sp;
	Av *problem;
	const Layout *l;
	Av *const *sizes;
	int under; /* the coordinate of the enclosing derivative, or -1 */
	uint32_t depth;
	VEC_HANDED out;
} JumpTerms;

static void visit(void *ud, const Ast *e);

/* The variables in which smoothness is tested: a coordinate and another one, or
 * -1; the fields; the values that are passed in. */
typedef struct SmoothnessTest {
	int coord, other;
	bool fields, values;
} SmoothnessTest;

/* The smoothness of a function of coordinates and jets and, if `more` is not
 * NULL, of n values of these types, `groups` times. *result (may be NULL): the
 * type of its result, unchanged if that is not one array. *depends (may be
 * NULL): true if it depends on the variables `in`. */
static Smoothness smoothness_of(JumpTerms *t, Av *f, Span at, uint32_t groups, uint32_t n,
                                const TypeId *more, SmoothnessTest in, TypeId *result,
                                bool *depends) {
	Sp *sp = t->sp;
	const Layout *l = t->l;
	Av **coords = ARENA_ARRAY(sp->a, Av *, l->ncoords + 1),
	   **jets = ARENA_ARRAY(sp->a, Av *, l->njets + 1), **values = ARENA_ARRAY(sp->a, Av *, n + 1);
	Av *one = av_array(sp, sp_const(sp, value_f64(1)));
	for (uint32_t i = 0; i < l->ncoords; i++) coords[i] = one;
	for (uint32_t i = 0; i < n; i++) values[i] = av_array(sp, build_full(sp->b, more[i], 1));
	for (uint32_t i = 0; i < l->njets; i++) {
		int64_t m = 0;
		(void)av_static_int(sp, t->sizes[l->jets[i].field], &m);
		const Dim length = dim_const(sp->c, m);
		jets[i] =
			m ? av_array(sp, build_zeros(sp->b, type_tensor(sp->c, DT_F64, 1, &length))) : one;
	}
	Av *given = av_seq(sp, AV_TUPLE, n, values);
	Av *args[4] = {av_seq(sp, AV_TUPLE, l->ncoords, coords), av_seq(sp, AV_TUPLE, l->njets, jets),
	               given, given};
	Span spans[4] = {at, at, at, at};
	CallArguments call = {
		.span = at, .callee_span = at, .n = 2 + groups, .args = args, .spans = spans};
	const Specialisation s = sp_specialise(sp, f, &call);
	if (depends) *depends = true;
	if (s.promised || !s.fn) return SMOOTH_JUMPS;
	if (result && fn_nresults(s.fn) == 1) *result = ref_type(s.fn, fn_result(s.fn, 0));
	/* Leaves: the captured values of the problem, the coordinates, the jets,
	 * the values. */
	const uint32_t captured = s.nleaves - l->ncoords - l->njets - groups * n,
				   eigen = fields_with_equation(l->e);
	bool *active = ARENA_ARRAY(sp->a, bool, fn_nparams(s.fn) + 1u);
	for (uint32_t i = 0; i < l->ncoords + l->njets + n; i++) {
		const int k = s.param_of_leaf[captured + i];
		const bool is_coord = i < l->ncoords, is_jet = !is_coord && i < l->ncoords + l->njets;
		/* An eigenvalue is the same everywhere. */
		const bool asked = is_coord ? (int)i == in.coord || (int)i == in.other
		                   : is_jet ? in.fields && l->jets[i - l->ncoords].field < eigen
		                            : in.values;
		if (k < 0 && asked) return SMOOTH_JUMPS;
		if (k >= 0) active[k] = asked;
		if (i + 1 == l->ncoords + l->njets && !groups) break;
	}
	return fn_smoothness(s.fn, active, depends);
}

static Smoothness smoothness_by(JumpTerms *t, const Ast *e, int coord, int other) {
	return smoothness_of(t, problem_expression(t->sp, t->problem, e, LOCATION_INSIDE, NULL),
	                     e->span, 0, 0, NULL, (SmoothnessTest){coord, other, true, false}, NULL,
	                     NULL);
}

static TypeId type_by(JumpTerms *t, const Ast *e) {
	TypeId type = type_scalar(t->sp->c, DT_F64);
	(void)smoothness_of(t, problem_expression(t->sp, t->problem, e, LOCATION_INSIDE, NULL), e->span,
	                    0, 0, NULL, (SmoothnessTest){-1, -1, false, false}, &type, NULL);
	/* A derivative is real, also that of an integer. */
	return type_with_dtype(t->sp->c, type, DT_F64);
}

/* True for a name whose derivatives are known: a coordinate, a jet, a function
 * or data. */
static bool is_plain(const JumpTerms *t, const Ast *e) {
	if (e->kind == A_CONST) return true;
	if (e->kind != A_NAME) return false;
	const Ast *local = local_named(t->l, e->name.name);
	return !local || local->kind == A_DEF;
}

static uint32_t inside(const JumpTerms *t, const Ast *operand, int under, VEC_HANDED *out) {
	JumpTerms inner = *t;
	inner.under = under;
	inner.depth++;
	memset(&inner.out, 0, sizeof inner.out);
	visit(&inner, operand);
	*out = inner.out;
	return inner.out.n;
}

static void consider(JumpTerms *t, const Ast *whole, const Ast *operand, uint32_t coord,
                     uint32_t order) {
	if (is_plain(t, operand)) return;
	for (uint32_t i = 0; i < t->out.n; i++)
		if (t->out.at[i].operand == operand && t->out.at[i].coord == coord &&
		    t->out.at[i].order == order)
			return;
	/* A derivative under another one is differentiated once more. */
	const uint32_t taken = order + (t->under >= 0 ? 1 : 0);
	VEC_HANDED within;
	bool rough = inside(t, operand, -1, &within) > 0;
	if (!rough) {
		const Smoothness s = smoothness_by(t, operand, (int)coord, t->under);
		rough = s != SMOOTH_ALWAYS && taken > (uint32_t)s;
	}
	const Handed g = {operand, whole, coord, order};
	if (rough) VEC_PUSH(t->sp->a, &t->out, g);
}

static void visit(void *ud, const Ast *e) {
	JumpTerms *t = ud;
	if (t->depth > 64) return;
	const Layout *l = t->l;
	const DerivativeForm d = derivative_of(t->sp->c, l, e);
	t->depth++;
	switch (d.kind) {
	case DER_NONE: {
		const Ast *local = e->kind == A_NAME ? local_named(l, e->name.name) : NULL;
		if (local && local->kind == A_ASSIGN) visit(t, local->assign.value);
		else if (!local) ast_children(e, visit, t);
		break;
	}
	case DER_BY: consider(t, e, d.operand, d.coord, d.order); break;
	case DER_NORMAL: break;
	case DER_ALONG: visit(t, d.along); /* fall through */
	case DER_GRAD:
	case DER_DIV:
	case DER_CURL:
	case DER_LAP:
		for (uint32_t i = 0; i < l->nspace; i++)
			consider(t, e, d.operand, l->space[i], d.kind == DER_LAP ? 2 : 1);
		break;
	}
	t->depth--;
}

static Av *jets_in(JumpTerms *t, const Ast *e) {
	Sp *sp = t->sp;
	Layout *own = ARENA_NEW(sp->a, Layout);
	layout_coords(sp->c, own, t->l->e);
	layout_collect(sp->c, own, e, LOCATION_INSIDE);
	VEC_AVS used = {0};
	for (uint32_t k = 0; k < t->l->njets; k++)
		if (jet_find(own, &t->l->jets[k]) >= 0) VEC_PUSH(sp->a, &used, av_int(sp, k));
	return av_seq(sp, AV_TUPLE, used.n, used.at);
}

static Av *record_of(Sp *sp, uint32_t n, const char *const *labels, Av *const *values) {
	Atom *names = ARENA_ARRAY(sp->a, Atom, n);
	for (uint32_t i = 0; i < n; i++) names[i] = atom(sp->c, labels[i]);
	return av_record(sp, n, names, values);
}

static Av *inner_record(JumpTerms *t, const Handed *g) {
	Sp *sp = t->sp;
	static const char *const labels[] = {"coord", "order", "f", "jets", "slope", "jumps"};
	const Smoothness s = smoothness_by(t, g->operand, (int)g->coord, -1);
	Av *values[] = {av_int(sp, g->coord),
	                av_int(sp, g->order),
	                problem_expression(sp, t->problem, g->operand, LOCATION_INSIDE, NULL),
	                jets_in(t, g->operand),
	                problem_total(sp, t->problem, g),
	                av_bool(sp, s != SMOOTH_ALWAYS && g->order > (uint32_t)s)};
	return record_of(sp, sizeof labels / sizeof labels[0], labels, values);
}

/* by: the equation as a function of the values of all these derivatives, whose
 * types are `slots`. k: the number of this one. */
static Av *jump_record(JumpTerms *t, const Handed *g, Av *by, const TypeId *slots, uint32_t nslots,
                       uint32_t k) {
	Sp *sp = t->sp;
	static const char *const labels[] = {"coord", "order", "f",    "jets",   "inner", "place",
	                                     "state", "deep",  "text", "factor", "plain", "fixed"};
	VEC_HANDED within = {0}, beneath;
	bool deep = g->order > 2;
	Av *f;
	/* The second derivative of e is the first derivative of ∂(e), which is a
	 * difference of e. */
	if (g->order >= 2) {
		const Handed once = {g->operand, g->text, g->coord, 1};
		VEC_PUSH(sp->a, &within, once);
		f = av_builtin(sp, "_given_first", 0, NULL);
	} else {
		(void)inside(t, g->operand, (int)g->coord, &within);
		f = problem_given(sp, t->problem, g->operand, within.n, within.at);
	}
	Av **inner = ARENA_ARRAY(sp->a, Av *, within.n + 1);
	TypeId *types = ARENA_ARRAY(sp->a, TypeId, within.n + 1);
	for (uint32_t i = 0; i < within.n; i++) {
		deep |= inside(t, within.at[i].operand, (int)within.at[i].coord, &beneath) > 0 ||
		        within.at[i].order > 1;
		inner[i] = inner_record(t, &within.at[i]);
		types[i] = type_by(t, within.at[i].operand);
	}
	/* Other jumps in the flux, with the inner derivatives given. */
	Smoothness place = SMOOTH_ALWAYS, state = SMOOTH_ALWAYS;
	if (g->order == 1) {
		place = smoothness_of(t, f, g->text->span, 1, within.n, types,
		                      (SmoothnessTest){(int)g->coord, -1, false, false}, NULL, NULL);
		state = smoothness_of(t, f, g->text->span, 1, within.n, types,
		                      (SmoothnessTest){-1, -1, true, false}, NULL, NULL);
	}
	/* Smooth in the fields: jumps are at fixed positions only. */
	Av *operand = problem_expression(sp, t->problem, g->operand, LOCATION_INSIDE, NULL);
	const bool fixed =
		smoothness_of(t, operand, g->text->span, 0, 0, NULL, (SmoothnessTest){-1, -1, true, false},
	                  NULL, NULL) == SMOOTH_ALWAYS;
	/* c in c*∂(f). The term is linear if c does not depend on the derivatives
	 * that are passed in. Integration by parts loses nothing if c is
	 * continuous. */
	Av *factor = av_builtin(sp, "_given_factor", 2,
	                        (Av *[]){by, av_string(sp, arena_printf(sp->a, "%u", k))});
	bool linear = false;
	(void)smoothness_of(t, factor, g->text->span, 2, nslots, slots,
	                    (SmoothnessTest){-1, -1, false, true}, NULL, &linear);
	linear = !linear;
	const bool plain = linear && smoothness_of(t, factor, g->text->span, 2, nslots, slots,
	                                           (SmoothnessTest){(int)g->coord, -1, true, false},
	                                           NULL, NULL) != SMOOTH_JUMPS;
	Av *values[] = {av_int(sp, g->coord),
	                av_int(sp, g->order),
	                f,
	                jets_in(t, g->operand),
	                av_seq(sp, AV_TUPLE, within.n, inner),
	                av_bool(sp, place == SMOOTH_JUMPS),
	                av_bool(sp, state == SMOOTH_JUMPS),
	                av_bool(sp, deep),
	                av_string(sp, source_of(sp->c, g->text)),
	                factor,
	                av_bool(sp, plain),
	                av_bool(sp, fixed)};
	return record_of(sp, sizeof labels / sizeof labels[0], labels, values);
}

Av *problem_jumps(Sp *sp, Av *problem, const Layout *l, Av *const *sizes, const Ast *equation,
                  Av **by) {
	JumpTerms t = {.sp = sp, .problem = problem, .l = l, .sizes = sizes, .under = -1};
	visit(&t, equation->equation.left);
	visit(&t, equation->equation.right);
	Av **records = ARENA_ARRAY(sp->a, Av *, t.out.n + 1);
	TypeId *slots = ARENA_ARRAY(sp->a, TypeId, t.out.n + 1);
	*by = t.out.n ? problem_given(sp, problem, equation, t.out.n, t.out.at) : av_none(sp);
	for (uint32_t i = 0; i < t.out.n; i++) slots[i] = type_by(&t, t.out.at[i].operand);
	for (uint32_t i = 0; i < t.out.n; i++)
		records[i] = jump_record(&t, &t.out.at[i], *by, slots, t.out.n, i);
	return av_seq(sp, AV_TUPLE, t.out.n, records);
}
