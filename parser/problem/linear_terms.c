/* linear_terms.c - the derivatives that an equation has only in linear terms
 * with constant factors.
 *
 * Needs: problem.h.
 *
 * Contract:
 * - The syntax decides, before anything is built.
 * - Linear terms are sums, differences, products with and quotients by
 *   expressions without fields and coordinates, and derivatives of such sums,
 *   term by term.
 * - The result is conservative: every jet reported is linear; others may be
 *   linear too.
 */
#include "parser/problem/problem.h"

/* The derivatives that enclose a term. */
typedef struct Under {
	const Ast *call;
	const struct Under *outer;
} Under;

typedef struct LinearTerms {
	Ctx *c;
	Layout *nonlinear; /* collects the jets of all other terms */
	const Under *under;
	uint32_t location, depth;
} LinearTerms;

typedef struct CoordinateUse {
	const Layout *l;
	bool found;
	uint32_t depth;
} CoordinateUse;

static void find_coordinate(void *ud, const Ast *e) {
	CoordinateUse *m = ud;
	if (m->found || m->depth > 64) return;
	if (e->kind == A_NAME) {
		const Ast *local = local_named(m->l, e->name.name);
		if (!local) m->found = coord_index(m->l, e->name.name) >= 0;
		else if (local->kind == A_ASSIGN) {
			m->depth++;
			find_coordinate(m, local->assign.value);
			m->depth--;
		} else m->found = true;
		return;
	}
	ast_children(e, find_coordinate, m);
}

/* True when e names no field and no coordinate. */
static bool is_constant(const LinearTerms *n, const Ast *e) {
	Layout own;
	layout_coords(n->c, &own, n->nonlinear->e);
	layout_collect(n->c, &own, e, n->location);
	CoordinateUse m = {.l = n->nonlinear};
	find_coordinate(&m, e);
	return own.njets == 0 && !m.found;
}

/* e is not linear. Adds the jets that it needs under each of the enclosing
 * derivatives, which apply to this term alone. */
static void collect_nonlinear(const LinearTerms *n, const Ast *e) {
	Arena *a = ctx_arena(n->c);
	for (const Under *u = n->under; u; u = u->outer) {
		Ast *one = ARENA_NEW(a, Ast);
		*one = *u->call;
		one->call.args = ARENA_ARRAY(a, Arg, one->call.n);
		memcpy(one->call.args, u->call->call.args, sizeof(Arg) * one->call.n);
		one->call.args[0].value = (Ast *)e;
		e = one;
	}
	layout_collect(n->c, n->nonlinear, e, n->location);
}

static void visit(LinearTerms *n, const Ast *e) {
	if (n->depth > 64) return;
	const DerivativeForm d = derivative_of(n->c, n->nonlinear, e);
	if (d.kind != DER_NONE && d.kind != DER_ALONG) {
		const Under own = {.call = e, .outer = n->under};
		n->under = &own;
		n->depth++;
		visit(n, d.operand);
		n->depth--;
		n->under = own.outer;
		return;
	}
	switch ((AstKind)e->kind) {
	case A_CONST: return;
	case A_UNARY:
		if (e->op != AO_NEG) break;
		visit(n, e->unary.operand);
		return;
	case A_BINARY:
		if (e->op == AO_ADD || e->op == AO_SUB) {
			visit(n, e->binary.left);
			visit(n, e->binary.right);
			return;
		}
		if (e->op == AO_MUL && is_constant(n, e->binary.left)) {
			visit(n, e->binary.right);
			return;
		}
		if ((e->op == AO_MUL || e->op == AO_DIV) && is_constant(n, e->binary.right)) {
			visit(n, e->binary.left);
			return;
		}
		break;
	case A_NAME: {
		const Ast *local = local_named(n->nonlinear, e->name.name);
		if (local && local->kind == A_ASSIGN) {
			n->depth++;
			visit(n, local->assign.value);
			n->depth--;
		}
		return;
	}
	default: break;
	}
	collect_nonlinear(n, e);
}

void layout_nonlinear(Ctx *c, Layout *l, const Ast *e, const Ast *q, uint32_t location) {
	layout_coords(c, l, e);
	LinearTerms n = {.c = c, .nonlinear = l, .location = location};
	visit(&n, q->equation.left);
	visit(&n, q->equation.right);
}
