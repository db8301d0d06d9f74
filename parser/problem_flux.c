/* problem_flux.c - the terms of an equation: which of them are derivatives of a flux, and what is left.
 *
 * Needs: spec.h. Guarantees: left - right is the sum of factor times D_coord(f) over the terms with a coordinate, and of factor times f over the others; each f is a
 * function of coordinates and jets, as a residual is. Only the outermost derivatives of first order are taken apart: what stands under them is the flux, as it was written. A name of a
 * local definition stands for its expression.
 */
#include "parser/problem_flux.h"

typedef struct Terms {
	Sp *sp;
	Av *problem;
	const Ast *e; /* the problem */
	VEC_AVS out;
	uint32_t depth;
} Terms;

static const Ast *local_value(const Ast *problem, Atom name) {
	for (uint32_t i = 0; i < problem->problem->nlocals; i++) {
		const Ast *local = problem->problem->locals[i];
		if (local->kind == A_ASSIGN && local->assign.target->kind == A_NAME && local->assign.target->name.name == name) return local->assign.value;
	}
	return NULL;
}

/* The number of a coordinate, and of how many space coordinates stand before it; -1 for another name. */
static int coord_of(Sp *sp, const Ast *problem, Atom name, int *space) {
	int at = 0;
	*space = 0;
	for (uint32_t i = 0; i < problem->problem->ndomains; i++)
		for (uint32_t k = 0; k < problem->problem->domains[i].ncoords; k++, at++) {
			if (problem->problem->domains[i].coords[k] == name) return at;
			*space += strcmp(atom_text(sp->c, problem->problem->domains[i].coords[k]), "t") != 0;
		}
	return -1;
}

static void add_term(Terms *t, const Ast *x, double factor, int coord, int part) {
	Sp *sp = t->sp;
	const Atom names[6] = {atom(sp->c, "coord"), atom(sp->c, "factor"), atom(sp->c, "f"), atom(sp->c, "part"), atom(sp->c, "jets"), atom(sp->c, "text")};
	size_t n;
	const char *text = source_text(sp->c, x->span.source, &n);
	Av *f = av_builtin(sp, "_problem_expr", 2, (Av *[]){t->problem, av_string(sp, arena_printf(sp->a, "%u", session_keep_ast(sp->session, x)))});
	Av *r = av_record(sp, 6, names,
	                  (Av *[]){av_int(sp, coord), av_array(sp, build_full(sp->b, type_scalar(sp->c, DT_F64), factor)), f, av_int(sp, part), problem_jets_of(sp, t->problem, x),
	                           av_string(sp, arena_copy(sp->a, text + x->span.start, x->span.end - x->span.start))});
	VEC_PUSH(sp->a, &t->out, r);
}

static bool number(const Ast *x, double *value) {
	if (x->kind == A_UNARY && x->op == AO_NEG && number(x->unary.operand, value)) {
		*value = -*value;
		return true;
	}
	return x->kind == A_CONST && value_as_f64(x->constant.value, value);
}

static void visit(Terms *t, const Ast *x, double factor) {
	double by;
	if (t->depth > 64) {
		add_term(t, x, factor, -1, -1);
		return;
	}
	t->depth++;
	if (x->kind == A_UNARY && (x->op == AO_NEG || x->op == AO_POS)) visit(t, x->unary.operand, x->op == AO_NEG ? -factor : factor);
	else if (x->kind == A_BINARY && (x->op == AO_ADD || x->op == AO_SUB)) {
		visit(t, x->binary.left, factor);
		visit(t, x->binary.right, x->op == AO_SUB ? -factor : factor);
	} else if (x->kind == A_BINARY && x->op == AO_MUL && number(x->binary.left, &by)) visit(t, x->binary.right, factor * by);
	else if (x->kind == A_BINARY && (x->op == AO_MUL || x->op == AO_DIV) && number(x->binary.right, &by)) visit(t, x->binary.left, x->op == AO_MUL ? factor * by : factor / by);
	else if (x->kind == A_NAME && local_value(t->e, x->name.name)) visit(t, local_value(t->e, x->name.name), factor);
	else if (x->kind == A_CONST && number(x, &by) && by == 0) {
		/* the right side of an equation that ends with == 0 */
	} else if (x->kind == A_CALL && x->call.callee->kind == A_NAME && x->call.n >= 1) {
		const char *name = atom_text(t->sp->c, x->call.callee->name.name);
		int space = 0, coord = -1;
		const Ast *operand = x->call.args[0].value;
		if (!strcmp(name, "d") && x->call.n == 2 && x->call.args[1].value->kind == A_NAME && (coord = coord_of(t->sp, t->e, x->call.args[1].value->name.name, &space)) >= 0)
			add_term(t, operand, factor, coord, -1);
		else if (!strcmp(name, "div") && x->call.n == 1) {
			int at = 0, part = 0;
			for (uint32_t i = 0; i < t->e->problem->ndomains; i++)
				for (uint32_t k = 0; k < t->e->problem->domains[i].ncoords; k++, at++)
					if (strcmp(atom_text(t->sp->c, t->e->problem->domains[i].coords[k]), "t")) add_term(t, operand, factor, at, part++);
		} else add_term(t, x, factor, -1, -1);
	} else add_term(t, x, factor, -1, -1);
	t->depth--;
}

Av *problem_terms(Sp *sp, Av *problem, const Ast *equation) {
	Terms t = {.sp = sp, .problem = problem, .e = problem->code};
	visit(&t, equation->equation.left, 1);
	visit(&t, equation->equation.right, -1);
	return av_seq(sp, AV_TUPLE, t.out.n, t.out.at);
}
