/* binding_time.c - binding-time analysis of a jvp: which values are known
 * before the point is, which depend on it, and which are tangents.
 *
 * Method: least fixed point, through branches and loops.
 *
 * Needs: pattern.h.
 *
 * Contract:
 * - A branch whose condition depends on the point makes every result on which
 *   its sides differ depend on it.
 * - A loop whose trip count depends on the point makes every value that changes
 *   in it depend on it.
 */
#include "autodiff/sparse/pattern.h"

static void visit(Sparsity *p, const Region *g);

static const Inst *inst_at(const Sparsity *p, const Region *g, uint32_t i) {
	return &p->f->insts.at[p->f->inst_order.at[g->insts + i]];
}

static Ref region_result(const Sparsity *p, const Region *g, uint32_t k) {
	return p->f->args.at[g->results + k];
}

static InstId id_of(const Sparsity *p, const Inst *in) { return (InstId)(in - p->f->insts.at); }

BindingTime sparsity_binding_time(const Sparsity *p, Ref r) {
	return ref_is_value(r) ? (BindingTime)p->binding_time[REF_INDEX(r)] : BT_STATIC;
}

static bool raise_binding_time(Sparsity *p, Ref r, BindingTime binding_time) {
	uint8_t *at = &p->binding_time[REF_INDEX(r)];
	const Type *t = ref_ty(p->f, r);
	if (binding_time == BT_ACTIVE && !type_has_tangent(p->c, ref_type(p->f, r)))
		binding_time = BT_DYNAMIC;
	if (binding_time == BT_SCALAR && t->kind == TY_TENSOR && !dtype_is_inexact((Dtype)t->dtype))
		binding_time = BT_STATIC;
	if (*at >= binding_time) return false;
	*at = (uint8_t)binding_time;
	return true;
}

/* ---- extents ------------------------------------------------------------- */

typedef struct Symbols {
	Sparsity *p;
	InstId birth; /* the defining instruction plus one; 0: it does not depend on the point */
	InstId lost;
} Symbols;

static void meet_symbol(void *ud, SymId s) {
	Symbols *y = ud;
	if (y->p->known[s]) return;
	y->p->known[s] = true;
	if (!y->p->lost[s]) y->p->lost[s] = y->birth;
}

static void find_lost(void *ud, SymId s) {
	Symbols *y = ud;
	if (y->p->lost[s]) y->lost = y->p->lost[s];
}

static void each_symbol(const Sparsity *p, TypeId id, void (*visit_symbol)(void *ud, SymId s),
                        Symbols *y) {
	const Type t = *type_of(p->c, id);
	for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++)
		dim_each_sym(p->c, t.dims[a], visit_symbol, y);
}

InstId sparsity_lost(const Sparsity *p, TypeId t) {
	Symbols y = {.p = (Sparsity *)p};
	each_symbol(p, t, find_lost, &y);
	return y.lost;
}

/* Attributes the symbols first encountered here to `birth`. */
static void meet(Sparsity *p, Ref r, InstId birth) {
	each_symbol(p, ref_type(p->f, r), meet_symbol, &(Symbols){.p = p, .birth = birth});
}

/* Whether an extent in its attributes depends on the point. */
static bool attr_lost(const Sparsity *p, const Inst *in) {
	uint32_t field = 0, count;
	Symbols y = {.p = (Sparsity *)p};
	for (const char *at = strchr(prims[in->op].attr, ':'); at; at = strchr(at + 1, ':'), field++) {
		if (at[1] != 'D') continue;
		const int64_t *dims = attr_field(p->c, (Op)in->op, in->attr, field, &count);
		for (uint32_t k = 0; k < count; k++) dim_each_sym(p->c, (Dim)dims[k], find_lost, &y);
	}
	return y.lost;
}

/* ---- instructions -------------------------------------------------------- */

static bool region_plain(const Sparsity *p, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++)
		if (!sparsity_plain(p, inst_at(p, g, i))) return false;
	return true;
}

bool sparsity_plain(const Sparsity *p, const Inst *in) {
	if (in->op == OP_PRINT || in->op == OP_DYNAMIC || p->uncertain[id_of(p, in)] ||
	    attr_lost(p, in))
		return false;
	for (uint32_t k = 0; k < in->nargs; k++)
		if (sparsity_binding_time(p, inst_arg(p->f, in, k)) >= BT_DYNAMIC) return false;
	for (uint32_t k = 0; k < in->nresults; k++)
		if (sparsity_binding_time(p, inst_result(in, k)) >= BT_DYNAMIC) return false;
	for (uint32_t k = 0; k < in->nregions; k++)
		if (!region_plain(p, inst_region(p->f, in, k))) return false;
	return true;
}

bool sparsity_is_zero(const Sparsity *p, const Inst *in) {
	if (in->op != OP_MUL) return false;
	for (uint32_t k = 0; k < 2; k++) {
		Value v;
		double x;
		if (ref_splat(p->f, inst_arg(p->f, in, k), &v) && value_as_f64(v, &x) && x == 0)
			return true;
	}
	return false;
}

static BindingTime highest(BindingTime a, BindingTime b) { return a > b ? a : b; }

static void visit_branches(Sparsity *p, const Inst *in) {
	const Region *g[2] = {inst_region(p->f, in, 0), inst_region(p->f, in, 1)};
	bool *uncertain = &p->uncertain[id_of(p, in)];
	if (in->op == OP_IF)
		*uncertain |= sparsity_binding_time(p, inst_arg(p->f, in, 0)) >= BT_DYNAMIC;
	visit(p, g[0]);
	visit(p, g[1]);
	if (in->op == OP_TRY && !(region_plain(p, g[0]) && region_plain(p, g[1]))) {
		*uncertain = true;
		if (g[1]->nparams) raise_binding_time(p, ref_value(g[1]->params), BT_DYNAMIC);
		visit(p, g[1]);
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		Ref a = region_result(p, g[0], k), b = region_result(p, g[1], k);
		BindingTime l = highest(sparsity_binding_time(p, a), sparsity_binding_time(p, b));
		if (*uncertain && a != b) l = highest(l, BT_DYNAMIC);
		raise_binding_time(p, inst_result(in, k), l);
		meet(p, inst_result(in, k), *uncertain ? id_of(p, in) + 1 : 0);
	}
}

static void visit_loop(Sparsity *p, const Inst *in) {
	const bool counted = in->op == OP_FOR;
	const Region *body = inst_region(p->f, in, !counted),
				 *condition = counted ? NULL : inst_region(p->f, in, 0);
	bool *uncertain = &p->uncertain[id_of(p, in)];
	const Ref first = ref_value(body->params + counted);
	if (counted) *uncertain |= sparsity_binding_time(p, inst_arg(p->f, in, 0)) >= BT_DYNAMIC;
	for (uint32_t k = 0; k < in->nresults; k++)
		raise_binding_time(p, first + k, sparsity_binding_time(p, inst_arg(p->f, in, k + counted)));
	/* Each round encounters the symbols of the body again: their definitions
	 * may have come to depend on the point. */
	bool *before = ARENA_ARRAY(p->a, bool, p->f->syms.n + 1u);
	memcpy(before, p->known, p->f->syms.n * sizeof *before);
	for (bool more = true; more;) {
		more = false;
		memcpy(p->known, before, p->f->syms.n * sizeof *before);
		const InstId birth = *uncertain ? id_of(p, in) + 1 : 0;
		if (counted)
			raise_binding_time(p, ref_value(body->params), *uncertain ? BT_DYNAMIC : BT_STATIC);
		for (uint32_t k = 0; k < in->nresults; k++) meet(p, first + k, birth);
		for (uint32_t k = 0; condition && k < in->nresults; k++) {
			raise_binding_time(p, ref_value(condition->params + k),
			                   sparsity_binding_time(p, first + k));
			meet(p, ref_value(condition->params + k), birth);
		}
		if (condition) {
			visit(p, condition);
			if (!*uncertain &&
			    sparsity_binding_time(p, region_result(p, condition, 0)) >= BT_DYNAMIC)
				*uncertain = more = true;
		}
		visit(p, body);
		for (uint32_t k = 0; k < in->nresults; k++) {
			Ref next = region_result(p, body, k);
			if (next == first + k) continue;
			BindingTime l = sparsity_binding_time(p, next);
			more |= raise_binding_time(p, first + k, *uncertain ? highest(l, BT_DYNAMIC) : l);
		}
	}
	for (uint32_t k = 0; k < in->nresults; k++) {
		raise_binding_time(p, inst_result(in, k), sparsity_binding_time(p, first + k));
		meet(p, inst_result(in, k), *uncertain ? id_of(p, in) + 1 : 0);
	}
}

static void visit_inst(Sparsity *p, const Inst *in) {
	const Op op = (Op)in->op;
	if (op == OP_IF || op == OP_TRY) {
		visit_branches(p, in);
		return;
	}
	if (op == OP_FOR || op == OP_WHILE) {
		visit_loop(p, in);
		return;
	}
	BindingTime l = BT_STATIC;
	for (uint32_t k = 0; k < in->nargs; k++)
		l = highest(l, sparsity_binding_time(p, inst_arg(p->f, in, k)));
	if (op == OP_PRINT || op == OP_DYNAMIC || attr_lost(p, in)) l = highest(l, BT_DYNAMIC);
	if (sparsity_is_zero(p, in)) l = BT_STATIC;
	for (uint32_t k = 0; k < in->nresults; k++) {
		const Ref r = inst_result(in, k);
		meet(p, r, l >= BT_DYNAMIC ? id_of(p, in) + 1 : 0);
		raise_binding_time(p, r,
		                   l < BT_DYNAMIC && sparsity_lost(p, ref_type(p->f, r)) ? BT_DYNAMIC : l);
	}
	if (op == OP_BIND)
		dim_each_sym(p->c, (Dim)attr_int(p->c, OP_BIND, in->attr, 0), meet_symbol,
		             &(Symbols){.p = p, .birth = l >= BT_DYNAMIC ? id_of(p, in) + 1 : 0});
}

static void visit(Sparsity *p, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) visit_inst(p, inst_at(p, g, i));
}

void sparsity_find_binding_times(Sparsity *p) {
	const uint32_t nparams = fn_nparams(p->f);
	for (uint32_t k = 0; k < nparams; k++) meet(p, fn_param(p->f, k), 0);
	visit(p, &p->f->regions.at[0]);
}
