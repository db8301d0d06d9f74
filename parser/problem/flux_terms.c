/* flux_terms.c - splits an equation into derivatives of fluxes and other terms.
 *
 * Needs: problem.h.
 *
 * Contract:
 * - left - right is the sum of factor times D_coord(f) over the terms with a
 *   coordinate, and of factor times f over the others.
 * - Each f is a function of coordinates and jets, as a residual is.
 * - Only the outermost derivatives of first order are split off. Their operand
 *   is the flux, as written.
 * - A name of a local definition stands for its expression.
 */
#include "parser/problem/problem.h"

typedef struct FluxTerms {
	Sp *sp;
	Av *problem;
	const Layout *l;
	VEC_AVS out;
	uint32_t depth;
} FluxTerms;

static void add_term(FluxTerms *t, const Ast *x, double factor, int coord, int part) {
	Sp *sp = t->sp;
	Layout *own = ARENA_NEW(sp->a, Layout);
	layout_coords(sp->c, own, t->l->e);
	layout_collect(sp->c, own, x, LOCATION_INSIDE);
	VEC_AVS used = {0};
	for (uint32_t k = 0; k < t->l->njets; k++)
		if (jet_find(own, &t->l->jets[k]) >= 0) VEC_PUSH(sp->a, &used, av_int(sp, k));
	const Atom names[6] = {atom(sp->c, "coord"), atom(sp->c, "factor"), atom(sp->c, "f"),
	                       atom(sp->c, "part"),  atom(sp->c, "jets"),   atom(sp->c, "text")};
	Av *r = av_record(sp, 6, names,
	                  (Av *[]){av_int(sp, coord),
	                           av_array(sp, build_full(sp->b, type_scalar(sp->c, DT_F64), factor)),
	                           problem_expression(sp, t->problem, x, LOCATION_INSIDE, NULL),
	                           av_int(sp, part), av_seq(sp, AV_TUPLE, used.n, used.at),
	                           av_string(sp, source_of(sp->c, x))});
	VEC_PUSH(sp->a, &t->out, r);
}

static bool number(const Ast *x, double *value) {
	if (x->kind == A_UNARY && x->op == AO_NEG && number(x->unary.operand, value)) {
		*value = -*value;
		return true;
	}
	return x->kind == A_CONST && value_as_f64(x->constant.value, value);
}

static void visit(FluxTerms *t, const Ast *x, double factor) {
	double by;
	const Ast *local = x->kind == A_NAME ? local_named(t->l, x->name.name) : NULL;
	const DerivativeForm d = derivative_of(t->sp->c, t->l, x);
	if (t->depth > 64) {
		add_term(t, x, factor, -1, -1);
		return;
	}
	t->depth++;
	if (x->kind == A_UNARY && (x->op == AO_NEG || x->op == AO_POS))
		visit(t, x->unary.operand, x->op == AO_NEG ? -factor : factor);
	else if (x->kind == A_BINARY && (x->op == AO_ADD || x->op == AO_SUB)) {
		visit(t, x->binary.left, factor);
		visit(t, x->binary.right, x->op == AO_SUB ? -factor : factor);
	} else if (x->kind == A_BINARY && x->op == AO_MUL && number(x->binary.left, &by))
		visit(t, x->binary.right, factor * by);
	else if (x->kind == A_BINARY && (x->op == AO_MUL || x->op == AO_DIV) &&
	         number(x->binary.right, &by))
		visit(t, x->binary.left, x->op == AO_MUL ? factor * by : factor / by);
	else if (local && local->kind == A_ASSIGN) visit(t, local->assign.value, factor);
	else if (number(x, &by) && by == 0) {
		/* The right side of an equation that ends with == 0. */
	} else if (d.kind == DER_BY && d.order == 1) add_term(t, d.operand, factor, (int)d.coord, -1);
	else if (d.kind == DER_DIV)
		for (uint32_t i = 0; i < t->l->nspace; i++)
			add_term(t, d.operand, factor, (int)t->l->space[i], (int)i);
	else add_term(t, x, factor, -1, -1);
	t->depth--;
}

Av *problem_terms(Sp *sp, Av *problem, const Layout *l, const Ast *equation) {
	FluxTerms t = {.sp = sp, .problem = problem, .l = l};
	visit(&t, equation->equation.left, 1);
	visit(&t, equation->equation.right, -1);
	return av_seq(sp, AV_TUPLE, t.out.n, t.out.at);
}
