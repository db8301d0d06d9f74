/* linearise_plan.c - planning of a split: the contents of each part, and the
 * saved values that pass between them.
 *
 * Method: pass 1, backward: liveness of linear values, and the other values
 * they use. Pass 2, inner regions first: the saved values.
 *
 * Needs: linearise.h; the linear values, found by linear_dependence.c.
 *
 * Contract:
 * - Only linear instructions that a result depends on remain, so nothing is
 *   saved for others.
 * - A value is saved only if recomputing it would cost more than a view or a
 *   scalar.
 * - Every symbol that the linear part mentions is bound by a saved value.
 * - Nothing is emitted.
 */
#include "autodiff/reverse/checkpoint.h"

/* ---- symbols ------------------------------------------------------------- */

static RegionId parent_of(const LinearisePlan *p, RegionId r) {
	InstId owner = p->f->regions.at[r].owner;
	return owner == NO_INST ? UINT32_MAX : p->f->insts.at[owner].parent;
}

static RegionSymbol *find_born(const LinearisePlan *p, SymId s, RegionId r) {
	RegionPlan *g = &p->regions[r];
	for (uint32_t i = 0; i < g->defined.n; i++)
		if (g->defined.at[i].sym == s) return &g->defined.at[i];
	return NULL;
}

/* The definition of a symbol, seen from region r; NULL: none. */
static RegionSymbol *home_of(const LinearisePlan *p, SymId s, RegionId r) {
	for (; r != UINT32_MAX; r = parent_of(p, r)) {
		RegionSymbol *defined = find_born(p, s, r);
		if (defined) return defined;
	}
	return NULL;
}

bool known_outside(const LinearisePlan *p, SymId s, RegionId r) { return home_of(p, s, r); }

typedef struct SymVisit {
	LinearisePlan *p;
	RegionId region;
	bool found;
} SymVisit;

static void visit_birth(void *ud, SymId s) {
	SymVisit *v = ud;
	if (home_of(v->p, s, v->region)) return;
	RegionSymbol defined = {.sym = s};
	VEC_PUSH(v->p->a, &v->p->regions[v->region].defined, defined);
}

static void visit_need(void *ud, SymId s) {
	SymVisit *v = ud;
	RegionSymbol *defined = home_of(v->p, s, v->region);
	if (defined) defined->needed = true;
}

static void visit_varies(void *ud, SymId s) {
	SymVisit *v = ud;
	v->found = v->found || find_born(v->p, s, v->region);
}

typedef void (*SymVisitor)(void *ud, SymId s);

static void each_sym(LinearisePlan *p, TypeId type, SymVisitor visit, SymVisit *v) {
	Type t = *type_of(p->c, type);
	for (uint32_t k = 0; t.kind == TY_TENSOR && k < t.rank; k++)
		dim_each_sym(p->c, t.dims[k], visit, v);
}

bool type_varies_in(const LinearisePlan *p, TypeId t, RegionId r) {
	SymVisit v = {.p = (LinearisePlan *)p, .region = r};
	each_sym((LinearisePlan *)p, t, visit_varies, &v);
	return v.found;
}

static bool dim_varies_in(LinearisePlan *p, Dim d, RegionId r) {
	SymVisit v = {.p = p, .region = r};
	dim_each_sym(p->c, d, visit_varies, &v);
	return v.found;
}

static void need_dim(LinearisePlan *p, Dim d, RegionId at) {
	dim_each_sym(p->c, d, visit_need, &(SymVisit){.p = p, .region = at});
}

static void need_type(LinearisePlan *p, TypeId t, RegionId at) {
	each_sym(p, t, visit_need, &(SymVisit){.p = p, .region = at});
}

/* Marks the symbols in the instruction's attributes as needed. */
static void need_attr(LinearisePlan *p, const Inst *in) {
	uint32_t k = 0;
	for (const char *s = strchr(prims[in->op].attr, ':'); s; s = strchr(s + 1, ':'), k++) {
		if (s[1] != 'D') continue;
		uint32_t n;
		const int64_t *words = attr_field(p->c, (Op)in->op, in->attr, k, &n);
		for (uint32_t i = 0; i < n; i++) need_dim(p, (Dim)words[i], in->parent);
	}
}

/* ---- equal extents ------------------------------------------------------- */

/* Two extents that the linear part mentions may be equal through a third that
 * it does not mention: a = b, b = c. A symbol that occurs in more than one
 * guard is therefore needed as soon as another symbol of one of these is. */
typedef struct GuardVisit {
	SymVisit at;
	uint32_t *count; /* guards that mention a symbol */
	bool some, more; /* a needed symbol was seen; a symbol became needed */
} GuardVisit;

static void visit_count(void *ud, SymId s) {
	GuardVisit *v = ud;
	v->count[s]++;
}

static void visit_some(void *ud, SymId s) {
	GuardVisit *v = ud;
	const RegionSymbol *defined = home_of(v->at.p, s, v->at.region);
	v->some = v->some || (defined && defined->needed);
}

static void visit_link(void *ud, SymId s) {
	GuardVisit *v = ud;
	RegionSymbol *defined = home_of(v->at.p, s, v->at.region);
	if (!defined || defined->needed || v->count[s] < 2) return;
	defined->needed = v->more = true;
}

static void each_guard(GuardVisit *v, void (*visit)(GuardVisit *v, Dim x, Dim y)) {
	LinearisePlan *p = v->at.p;
	for (uint32_t i = 0; i < p->guards.n; i++) {
		const Inst *in = &p->f->insts.at[p->guards.at[i]];
		v->at.region = in->parent;
		visit(v, (Dim)attr_int(p->c, OP_GUARD, in->attr, 0),
		      (Dim)attr_int(p->c, OP_GUARD, in->attr, 1));
	}
}

static void count_guard(GuardVisit *v, Dim x, Dim y) {
	dim_each_sym(v->at.p->c, x, visit_count, v);
	dim_each_sym(v->at.p->c, y, visit_count, v);
}

static void link_guard(GuardVisit *v, Dim x, Dim y) {
	v->some = false;
	dim_each_sym(v->at.p->c, x, visit_some, v);
	dim_each_sym(v->at.p->c, y, visit_some, v);
	if (!v->some) return;
	dim_each_sym(v->at.p->c, x, visit_link, v);
	dim_each_sym(v->at.p->c, y, visit_link, v);
}

static void need_linked(LinearisePlan *p) {
	if (!p->guards.n) return;
	GuardVisit v = {.at = {.p = p}, .count = ARENA_ARRAY(p->a, uint32_t, p->nsyms + 1u)};
	each_guard(&v, count_guard);
	do {
		v.more = false;
		each_guard(&v, link_guard);
	} while (v.more);
}

/* Finds where each symbol is defined, and the guards. */
static void find_births(LinearisePlan *p, RegionId id) {
	const Region *g = &p->f->regions.at[id];
	SymVisit v = {.p = p, .region = id};
	for (uint32_t k = 0; k < g->nparams; k++)
		each_sym(p, p->f->vals.at[g->params + k].type, visit_birth, &v);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = plan_inst(p, g, i);
		if (in->op == OP_GUARD) VEC_PUSH(p->a, &p->guards, (InstId)(in - p->f->insts.at));
		if (in->op == OP_BIND)
			dim_each_sym(p->c, (Dim)attr_int(p->c, OP_BIND, in->attr, 0), visit_birth, &v);
		for (uint32_t k = 0; k < in->nregions; k++) find_births(p, region_id(p, in, k));
		for (uint32_t k = 0; k < in->nresults; k++)
			each_sym(p, p->f->vals.at[in->results + k].type, visit_birth, &v);
	}
}

/* A further symbol, defined in region r. */
static Dim new_dim(LinearisePlan *p, RegionId r) {
	RegionSymbol defined = {.sym = p->nsyms++};
	VEC_PUSH(p->a, &p->regions[r].defined, defined);
	return dim_sym(p->c, defined.sym);
}

/* ---- liveness ------------------------------------------------------------ */

static const Val *val_of(const LinearisePlan *p, Ref r) { return &p->f->vals.at[REF_INDEX(r)]; }

/* The loop counter, which the linear loop has as well. */
static bool is_counter(const LinearisePlan *p, Ref r) {
	const Val *v = val_of(p, r);
	InstId owner = p->f->regions.at[v->region].owner;
	return v->def == NO_INST && v->index == 0 && owner != NO_INST &&
	       p->f->insts.at[owner].op == OP_FOR;
}

/* The innermost loop body that contains region r, or the body of the
 * function. */
static RegionId turn_of(const LinearisePlan *p, RegionId r) {
	for (; p->f->regions.at[r].owner != NO_INST; r = parent_of(p, r)) {
		Op op = (Op)p->f->insts.at[p->f->regions.at[r].owner].op;
		if (op == OP_FOR || op == OP_WHILE) break;
	}
	return r;
}

bool encloses(const LinearisePlan *p, RegionId outer, RegionId r) {
	for (; r != UINT32_MAX; r = parent_of(p, r))
		if (r == outer) return true;
	return false;
}

static bool is_cheap_index(const LinearisePlan *p, Ref r, uint32_t depth);

/* A comparison of cheap indices. */
static bool is_cheap_choice(const LinearisePlan *p, Ref r, uint32_t depth) {
	const Inst *in = ref_inst(p->f, r);
	if (!in || (in->op != OP_LT && in->op != OP_LE && in->op != OP_EQ)) return false;
	return is_cheap_index(p, inst_arg(p->f, in, 0), depth + 1) &&
	       is_cheap_index(p, inst_arg(p->f, in, 1), depth + 1);
}

/* Integers that follow from counters, extents and scalars: mostly indices,
 * which may count from the end. */
static bool is_cheap_index(const LinearisePlan *p, Ref r, uint32_t depth) {
	if (ref_is_const(r)) return true;
	const Type *t = ref_ty(p->f, r);
	if (t->kind != TY_TENSOR || !dtype_is_int((Dtype)t->dtype) || depth > 16) return false;
	if (is_counter(p, r) || (depth && !t->rank)) return true;
	const Inst *in = ref_inst(p->f, r);
	if (!in) return false;
	switch ((Op)in->op) {
	case OP_IOTA:
	case OP_EXTENT: return true;
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_NEG:
	case OP_MAX:
	case OP_MIN:
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_CONVERT:
		for (uint32_t k = 0; k < in->nargs; k++)
			if (!is_cheap_index(p, inst_arg(p->f, in, k), depth + 1)) return false;
		return true;
	case OP_SELECT:
		return is_cheap_choice(p, inst_arg(p->f, in, 0), depth) &&
		       is_cheap_index(p, inst_arg(p->f, in, 1), depth + 1) &&
		       is_cheap_index(p, inst_arg(p->f, in, 2), depth + 1);
	default: return false;
	}
}

/* Whether r is a view, at cheap indices, of a value from before the loop whose
 * body is `turn`. */
static bool is_view_from_before(const LinearisePlan *p, Ref r, RegionId turn, uint32_t depth) {
	if (ref_is_const(r) || !encloses(p, turn, val_of(p, r)->region)) return true;
	const Inst *in = ref_inst(p->f, r);
	if (!in || depth > 16) return false;
	switch ((Op)in->op) {
	case OP_GATHER:
		if (ref_ty(p->f, inst_arg(p->f, in, 1))->rank ||
		    !is_cheap_index(p, inst_arg(p->f, in, 1), 0))
			return false;
		break;
	case OP_SLICE:
	case OP_RESHAPE:
	case OP_TRANSPOSE: break;
	default: return false;
	}
	return is_view_from_before(p, inst_arg(p->f, in, 0), turn, depth + 1);
}

static bool is_remade(const LinearisePlan *p, Ref r) {
	if (is_counter(p, r)) return true;
	const Inst *in = ref_inst(p->f, r);
	if (!in) return false;
	switch ((Op)in->op) {
	case OP_BROADCAST:
	case OP_RESHAPE:
	case OP_TRANSPOSE:
	case OP_NEG:
	case OP_CONJ:
	case OP_IOTA:
	case OP_EXTENT: return true;
	case OP_CONVERT: /* saved in whichever dtype is smaller */
		return dtype_size((Dtype)ref_ty(p->f, inst_arg(p->f, in, 0))->dtype) <=
		       dtype_size((Dtype)ref_ty(p->f, r)->dtype);
	case OP_GATHER: /* in a loop: one row of a value from before the loop */
	case OP_SLICE:
		return is_view_from_before(p, r, turn_of(p, in->parent), 0) || is_cheap_index(p, r, 0);
	default: return is_cheap_index(p, r, 0) || is_cheap_choice(p, r, 0);
	}
}

static void need_value(LinearisePlan *p, Ref r) {
	if (ref_is_const(r) || p->kept[REF_INDEX(r)]) return;
	p->marks++;
	bool remade = is_remade(p, r);
	p->kept[REF_INDEX(r)] = remade ? KEPT_REMADE : KEPT_SAVED;
	need_type(p, ref_type(p->f, r), val_of(p, r)->region);
	const Inst *in = ref_inst(p->f, r);
	if (!remade || !in) return;
	need_attr(p, in);
	for (uint32_t k = 0; k < in->nargs; k++) need_value(p, inst_arg(p->f, in, k));
}

/* The linear part uses r, linear or not. */
static void demand(LinearisePlan *p, Ref r) {
	if (!is_linear(p, r)) {
		need_value(p, r);
		return;
	}
	if (p->live[REF_INDEX(r)]) return;
	p->live[REF_INDEX(r)] = true;
	p->marks++;
	need_type(p, ref_type(p->f, r), val_of(p, r)->region);
}

static void demand_region(LinearisePlan *p, const Region *g);

static void demand_branches(LinearisePlan *p, const Inst *in) {
	if (in->op == OP_IF) need_value(p, inst_arg(p->f, in, 0));
	for (uint32_t i = 0; i < 2; i++) {
		const Region *g = inst_region(p->f, in, i);
		for (uint32_t k = 0; k < in->nresults; k++)
			if (is_live(p, inst_result(in, k))) demand(p, plan_result(p, g, k));
		demand_region(p, g);
	}
}

/* All carried and held values of a checkpointed loop are live. */
static void demand_snapshots(LinearisePlan *p, const Inst *in) {
	const SnapshotPlan *s = plan_of(p, in)->snapshots;
	const SnapshotLoop *loop = s->loop;
	if (in->op == OP_FOR) need_value(p, inst_arg(p->f, in, 0));
	for (uint32_t k = 0; k < s->nwitnesses; k++) need_type(p, s->witnesses[k], in->parent);
	for (uint32_t k = 0; k < s->ncaptured; k++) need_value(p, s->captured[k]);
	for (uint32_t k = 0; k < loop->nstate; k++) need_value(p, s->state[k]);
	for (uint32_t k = 0; k < loop->ncarried; k++) demand(p, s->carried[k]);
	for (uint32_t k = 0; k < loop->nheld; k++) demand(p, s->held[k]);
	for (uint32_t k = 0; k < in->nresults; k++)
		if (is_linear(p, inst_result(in, k))) demand(p, inst_result(in, k));
}

/* A carried value is live when its result is, or when an iteration uses it for
 * a live one: a fixed point. */
static void demand_loop(LinearisePlan *p, const Inst *in) {
	if (plan_of(p, in)->snapshots) {
		demand_snapshots(p, in);
		return;
	}
	uint32_t skip = in->op == OP_FOR;
	const Region *body = inst_region(p->f, in, !skip);
	if (skip) need_value(p, inst_arg(p->f, in, 0));
	for (uint32_t before = UINT32_MAX; before != p->marks;) {
		before = p->marks;
		for (uint32_t k = 0; k < in->nresults; k++) {
			Ref param = ref_value(body->params + skip + k), result = inst_result(in, k);
			if (!is_live(p, param) && !is_live(p, result)) continue;
			demand(p, param);
			demand(p, result);
			demand(p, inst_arg(p->f, in, k + skip));
			demand(p, plan_result(p, body, k));
		}
		demand_region(p, body);
	}
}

static void demand_call(LinearisePlan *p, const Inst *in) {
	const InstPlan *ip = plan_of(p, in);
	for (uint32_t k = 0; k < in->nargs; k++)
		if (ip->places[k] || ip->mode == CALL_JOINT) demand(p, inst_arg(p->f, in, k));
	/* In reverse the call needs zeros for the results that are not live. */
	for (uint32_t k = 0; k < in->nresults; k++)
		if (ip->results[k]) need_type(p, p->f->vals.at[in->results + k].type, in->parent);
}

static void demand_inst(LinearisePlan *p, const Inst *in) {
	if (!any_live_result(p, in)) return;
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: demand_branches(p, in); return;
	case OP_FOR:
	case OP_WHILE: demand_loop(p, in); return;
	case OP_CALL: demand_call(p, in); return;
	default:
		need_attr(p, in);
		for (uint32_t k = 0; k < in->nargs; k++) demand(p, inst_arg(p->f, in, k));
	}
}

static void demand_region(LinearisePlan *p, const Region *g) {
	for (uint32_t i = g->ninsts; i-- > 0;) demand_inst(p, plan_inst(p, g, i));
}

/* ---- recomputation ------------------------------------------------------- */

enum { REMAKE_MOST = 3 }; /* operations: fewer than it costs to write and read a row of a tape */

static bool is_cheap_sum(const Inst *in) {
	return in && (in->op == OP_ADD || in->op == OP_SUB || in->op == OP_MUL);
}

/* Whether the linear part can compute r from saved values by at most *left
 * further operations. */
static bool follows(const LinearisePlan *p, Ref r, uint32_t *left) {
	if (ref_is_const(r) || p->kept[REF_INDEX(r)]) return true;
	const Inst *in = ref_inst(p->f, r);
	if (!in || is_linear(p, r)) return false;
	if (is_cheap_sum(in)) {
		if (!*left) return false;
		--*left;
	} else if (in->op != OP_BROADCAST && in->op != OP_NEG) {
		return false;
	}
	for (uint32_t k = 0; k < in->nargs; k++)
		if (!follows(p, inst_arg(p->f, in, k), left)) return false;
	return true;
}

static void remake(LinearisePlan *p, Ref r) {
	if (ref_is_const(r) || p->kept[REF_INDEX(r)]) return;
	const Inst *in = ref_inst(p->f, r);
	p->kept[REF_INDEX(r)] = KEPT_REMADE;
	need_type(p, ref_type(p->f, r), val_of(p, r)->region);
	need_attr(p, in);
	for (uint32_t k = 0; k < in->nargs; k++) remake(p, inst_arg(p->f, in, k));
}

/* In loops, where saved values go to tapes: sums and products of values already
 * on tapes (1 - y * y beside y) are recomputed. Elsewhere both parts end up in
 * one function, which has each value once. */
static void remake_cheap(LinearisePlan *p) {
	for (uint32_t v = 0; v < p->f->vals.n; v++) {
		const Ref r = ref_value(v);
		const Inst *in = p->kept[v] == KEPT_SAVED ? ref_inst(p->f, r) : NULL;
		if (!is_cheap_sum(in) || turn_of(p, in->parent) == 0) continue;
		uint32_t left = REMAKE_MOST - 1;
		bool all = true;
		for (uint32_t k = 0; k < in->nargs && all; k++)
			all = follows(p, inst_arg(p->f, in, k), &left);
		if (!all) continue;
		p->kept[v] = KEPT_REMADE;
		need_attr(p, in);
		for (uint32_t k = 0; k < in->nargs; k++) remake(p, inst_arg(p->f, in, k));
	}
}

/* ---- checkpoints --------------------------------------------------------- */

static void plan_snapshots(LinearisePlan *p, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = plan_inst(p, g, i);
		bool loop = in->op == OP_FOR || in->op == OP_WHILE;
		if (loop && touches_linear(&p->dep, in))
			plan_of(p, in)->snapshots =
				snapshot_plan(p, in, in->op == OP_FOR, &plan_of(p, in)->tapes);
		if (loop && plan_of(p, in)->snapshots) continue;
		for (uint32_t k = 0; k < in->nregions; k++) plan_snapshots(p, inst_region(p->f, in, k));
	}
}

/* ---- calls --------------------------------------------------------------- */

static void plan_calls(LinearisePlan *p, const Region *g) {
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = plan_inst(p, g, i);
		for (uint32_t k = 0; k < in->nregions; k++) plan_calls(p, inst_region(p->f, in, k));
		if (in->op != OP_CALL) continue;
		InstPlan *ip = plan_of(p, in);
		ip->places = ARENA_ARRAY(p->a, bool, in->nargs + 1u);
		ip->results = ARENA_ARRAY(p->a, bool, in->nresults + 1u);
		if (!linear_call(&p->dep, in, ip->places, ip->results)) continue;
		Fn *callee = inst_callee(p->c, in);
		TransformInfo o = transform_info(callee);
		bool fits = o.is_linear;
		for (uint32_t k = 0; k < in->nargs; k++) fits &= ip->places[k] == (k >= o.linear_from);
		ip->mode = CALL_JOINT;
		if (fits) continue;
		ip->split = split_of(p->c, callee, ip->places);
		if (ip->split->done) ip->mode = CALL_SPLIT;
	}
}

/* ---- saved values -------------------------------------------------------- */

static void plan_items(LinearisePlan *p, RegionId id);

static void give(LinearisePlan *p, const Inst *in, TypeId t) {
	VEC_PUSH(p->a, &plan_of(p, in)->given, t);
}

/* Extents undefined outside a region, and the symbol that replaces each
 * outside. */
typedef struct Renamed {
	VEC(Dim) from;
	VEC(Dim) to;
} Renamed;

static Dim rename_dim(LinearisePlan *p, Renamed *names, Dim d, RegionId outside) {
	for (uint32_t i = 0; i < names->from.n; i++)
		if (names->from.at[i] == d) return names->to.at[i];
	Dim fresh = new_dim(p, outside);
	VEC_PUSH(p->a, &names->from, d);
	VEC_PUSH(p->a, &names->to, fresh);
	return fresh;
}

static void give_branches(LinearisePlan *p, const Inst *in) {
	for (uint32_t i = 0; i < 2; i++) {
		RegionId id = region_id(p, in, i);
		Renamed names = {0};
		for (uint32_t k = 0; k < p->regions[id].saved.n; k++) {
			Type t = *type_of(p->c, p->regions[id].saved.at[k].type);
			if (t.kind != TY_TENSOR) {
				give(p, in, p->regions[id].saved.at[k].type);
				continue;
			}
			for (uint32_t a = 0; a < t.rank; a++)
				if (dim_varies_in(p, t.dims[a], id))
					t.dims[a] = rename_dim(p, &names, t.dims[a], in->parent);
			give(p, in, type_tensor(p->c, (Dtype)t.dtype, t.rank, t.dims));
		}
	}
	if (in->op == OP_TRY) give(p, in, type_scalar(p->c, DT_BOOL)); /* whether the body succeeded */
}

/* The trip count of a `for`, when it follows from a constant or an extent and
 * so cannot be negative. */
static bool known_turns(const LinearisePlan *p, Ref count, Dim *out) {
	const Const *k = ref_constant(p->f, count);
	if (k && k->value.kind == V_SCALAR && k->value.dtype == DT_I64) {
		*out = dim_const(p->c, k->value.i > 0 ? k->value.i : 0);
		return true;
	}
	const Inst *in = ref_inst(p->f, count);
	if (!in || in->op != OP_EXTENT) return false;
	*out = (Dim)attr_int(p->c, OP_EXTENT, in->attr, 0);
	SymId s;
	return dim_is_sym(p->c, *out, &s) || dim_is_const(p->c, *out, NULL);
}

/* Ragged saved values of one dtype share a flat tape, which is attached to the
 * first of them. */
bool opens_flat_tape(const LinearisePlan *p, const RegionPlan *g, uint32_t k) {
	if (!g->saved.at[k].ragged) return false;
	for (uint32_t i = 0; i < k; i++)
		if (g->saved.at[i].ragged &&
		    type_of(p->c, g->saved.at[i].type)->dtype == type_of(p->c, g->saved.at[k].type)->dtype)
			return false;
	return true;
}

/* A `while` passes on its trip count, a `for` its stack. */
static void give_snapshots(LinearisePlan *p, const Inst *in) {
	const SnapshotPlan *s = plan_of(p, in)->snapshots;
	if (in->op == OP_WHILE) {
		give(p, in, type_scalar(p->c, DT_I64));
		return;
	}
	if (!snapshot_stack_size(s->loop)) return;
	Dim rows = new_dim(p, in->parent);
	for (uint32_t k = 0; k < s->loop->nstate; k++) {
		Type t = *ref_ty(p->f, s->state[k]);
		Dim dims[MAX_RANK] = {rows};
		memcpy(dims + 1, t.dims, t.rank * sizeof *dims);
		give(p, in, type_tensor(p->c, (Dtype)t.dtype, t.rank + 1u, dims));
	}
	give(p, in, type_tensor(p->c, DT_I64, 1, &rows));
	give(p, in, type_scalar(p->c, DT_I64));
}

static void give_loop(LinearisePlan *p, const Inst *in) {
	InstPlan *ip = plan_of(p, in);
	if (ip->snapshots) {
		give_snapshots(p, in);
		return;
	}
	RegionId body = region_id(p, in, in->op == OP_WHILE);
	RegionPlan *g = &p->regions[body];
	Dim turns;
	if (in->op == OP_WHILE) {
		give(p, in, type_scalar(p->c, DT_I64)); /* the trip count */
		if (!g->saved.n) return;
		turns = new_dim(p, in->parent);
	} else {
		if (!g->saved.n) return;
		ip->turns_known = known_turns(p, inst_arg(p->f, in, 0), &turns);
		if (!ip->turns_known) turns = new_dim(p, in->parent);
		ip->turns = turns;
	}
	for (uint32_t k = 0; k < g->saved.n; k++) {
		SavedValue *value = &g->saved.at[k];
		Type t = *type_of(p->c, value->type);
		if (t.kind != TY_TENSOR)
			no_rule(p->c, p->f, in, "linearise",
			        "would have to keep a dynamic value from each turn for the derivative");
		value->ragged = t.rank == MAX_RANK || type_varies_in(p, value->type, body);
		if (!value->ragged) {
			Dim dims[MAX_RANK] = {turns};
			memcpy(dims + 1, t.dims, t.rank * sizeof *dims);
			give(p, in, type_tensor(p->c, (Dtype)t.dtype, t.rank + 1u, dims));
		} else if (opens_flat_tape(p, g, k)) {
			Dim size = new_dim(p, in->parent);
			give(p, in, type_tensor(p->c, (Dtype)t.dtype, 1, &size));
			/* the offset of each iteration's elements */
			give(p, in, type_tensor(p->c, DT_I64, 1, &turns));
		}
	}
}

/* The callee's residuals, in the caller's symbols where the operands determine
 * them. */
static void give_call(LinearisePlan *p, const Inst *in) {
	const InstPlan *ip = plan_of(p, in);
	const LinearSplit *s = split_data(ip->split);
	const Fn *callee = s->primal;
	Dim *map = ARENA_ARRAY(p->a, Dim, callee->syms.n + 1u);
	for (uint32_t i = 0; i < callee->syms.n; i++) map[i] = UINT32_MAX;
	for (uint32_t k = 0, at = 0; k < in->nargs; k++) {
		if (ip->places[k]) continue;
		Type want = *type_of(p->c, ref_type(callee, fn_param(callee, at++))),
			 have = *ref_ty(p->f, inst_arg(p->f, in, k));
		for (uint32_t a = 0; want.kind == TY_TENSOR && a < want.rank; a++) {
			SymId sym;
			if (dim_is_sym(p->c, want.dims[a], &sym) && map[sym] == UINT32_MAX)
				map[sym] = have.dims[a];
		}
	}
	Renamed names = {0};
	for (uint32_t k = 0; k < s->nresiduals; k++) {
		Type t = *type_of(p->c, ref_type(callee, fn_result(callee, s->nplain_results + k)));
		if (t.kind != TY_TENSOR) {
			give(p, in, ref_type(callee, fn_result(callee, s->nplain_results + k)));
			continue;
		}
		for (uint32_t a = 0; a < t.rank; a++) {
			bool known = true;
			for (SymId sym = 0; sym < callee->syms.n; sym++)
				known &= map[sym] != UINT32_MAX || !dim_mentions(p->c, t.dims[a], sym);
			t.dims[a] = known ? dim_subst(p->c, t.dims[a], map, callee->syms.n)
			                  : rename_dim(p, &names, t.dims[a], in->parent);
		}
		give(p, in, type_tensor(p->c, (Dtype)t.dtype, t.rank, t.dims));
	}
}

static void give_inst(LinearisePlan *p, const Inst *in) {
	for (uint32_t k = 0; k < in->nregions && !plan_of(p, in)->snapshots; k++)
		plan_items(p, region_id(p, in, k));
	if (!any_live_result(p, in)) return;
	switch ((Op)in->op) {
	case OP_IF:
	case OP_TRY: give_branches(p, in); break;
	case OP_FOR:
	case OP_WHILE: give_loop(p, in); break;
	case OP_CALL:
		if (plan_of(p, in)->mode == CALL_SPLIT) give_call(p, in);
		break;
	default: break;
	}
}

static void save(LinearisePlan *p, RegionId id, SavedValue value) {
	VEC_PUSH(p->a, &p->regions[id].saved, value);
	need_type(p, value.type, id);
}

static void save_value(LinearisePlan *p, RegionId id, uint32_t v) {
	if (p->kept[v] == KEPT_SAVED)
		save(p, id, (SavedValue){.kind = SAVED_VALUE, .id = v, .type = p->f->vals.at[v].type});
}

/* Whether the symbol is an axis of some saved value of the region. */
static bool shown_by_item(const LinearisePlan *p, RegionId id, SymId s) {
	const RegionPlan *g = &p->regions[id];
	Dim want = dim_sym(p->c, s);
	for (uint32_t k = 0; k < g->saved.n; k++) {
		const Type *t = type_of(p->c, g->saved.at[k].type);
		for (uint32_t a = 0; t->kind == TY_TENSOR && a < t->rank; a++)
			if (t->dims[a] == want) return true;
	}
	return false;
}

static void add_witness(LinearisePlan *p, RegionId id, uint32_t n, Dim *dims) {
	if (!n) return;
	dims[n] = dim_const(p->c, 0);
	save(p, id,
	     (SavedValue){.kind = SAVED_WITNESS, .type = type_tensor(p->c, DT_BOOL, n + 1, dims)});
}

/* Adds saved values for symbols: in a loop one scalar for each iteration,
 * elsewhere the shape of a saved value. */
static void add_lengths(LinearisePlan *p, RegionId id) {
	RegionPlan *g = &p->regions[id];
	InstId owner = p->f->regions.at[id].owner;
	bool loop = owner != NO_INST &&
	            (p->f->insts.at[owner].op == OP_FOR || p->f->insts.at[owner].op == OP_WHILE);
	Dim dims[MAX_RANK];
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->defined.n; i++) {
		if (!g->defined.at[i].needed) continue;
		SymId s = g->defined.at[i].sym;
		if (loop) {
			save(p, id,
			     (SavedValue){.kind = SAVED_EXTENT, .id = s, .type = type_scalar(p->c, DT_I64)});
			continue;
		}
		if (shown_by_item(p, id, s)) continue;
		/* only linear values have it in their shape */
		if (s < p->f->syms.n && !p->shown[s] && p->brought[s]) continue;
		dims[n++] = dim_sym(p->c, s);
		if (n == MAX_RANK - 1) {
			add_witness(p, id, n, dims);
			n = 0;
		}
	}
	add_witness(p, id, n, dims);
}

static void plan_items(LinearisePlan *p, RegionId id) {
	const Region *g = &p->f->regions.at[id];
	for (uint32_t k = 0; k < g->nparams; k++) save_value(p, id, g->params + k);
	for (uint32_t i = 0; i < g->ninsts; i++) {
		const Inst *in = plan_inst(p, g, i);
		give_inst(p, in);
		for (uint32_t k = 0; k < in->nresults; k++) save_value(p, id, in->results + k);
		const InstPlan *ip = plan_of(p, in);
		for (uint32_t k = 0; k < ip->given.n; k++)
			save(p, id,
			     (SavedValue){.kind = SAVED_INST,
			                  .id = (InstId)(in - p->f->insts.at),
			                  .k = k,
			                  .type = ip->given.at[k]});
	}
	need_linked(p);
	add_lengths(p, id);
}

static void note_shown(void *ud, SymId s) { ((bool *)ud)[s] = true; }

/* Finds the symbols that each part can evaluate. Those that only a tangent has
 * in its shape do not exist in the primal part. */
static void find_shown(LinearisePlan *p) {
	const Fn *f = p->f;
	for (uint32_t v = 0; v < f->vals.n; v++) {
		const Type t = *type_of(p->c, f->vals.at[v].type);
		const bool linear = is_linear(p, ref_value(v));
		if (linear && !p->live[v]) continue;
		for (uint32_t a = 0; t.kind == TY_TENSOR && a < t.rank; a++)
			dim_each_sym(p->c, t.dims[a], note_shown, linear ? p->brought : p->shown);
	}
	for (uint32_t i = 0; i < f->insts.n; i++) {
		const Inst *in = &f->insts.at[i];
		if (in->op == OP_BIND)
			dim_each_sym(p->c, (Dim)attr_int(p->c, OP_BIND, in->attr, 0), note_shown, p->shown);
	}
}

void plan_split(LinearisePlan *p) {
	const Fn *f = p->f;
	p->live = ARENA_ARRAY(p->a, bool, f->vals.n + 1u);
	p->kept = ARENA_ARRAY(p->a, uint8_t, f->vals.n + 1u);
	p->regions = ARENA_ARRAY(p->a, RegionPlan, f->regions.n + 1u);
	p->insts = ARENA_ARRAY(p->a, InstPlan, f->insts.n + 1u);
	p->shown = ARENA_ARRAY(p->a, bool, f->syms.n + 1u);
	p->brought = ARENA_ARRAY(p->a, bool, f->syms.n + 1u);
	p->nsyms = f->syms.n;
	find_births(p, 0);
	plan_calls(p, &f->regions.at[0]);
	find_shown(p);
	if (p->plain) return;
	if (p->d->from->checkpoint) plan_snapshots(p, &f->regions.at[0]);
	for (uint32_t k = 0; k < fn_nparams(f); k++)
		if (p->d->mask[k]) need_type(p, ref_type(f, fn_param(f, k)), 0);
	for (uint32_t k = 0; k < fn_nresults(f); k++) {
		if (!p->linear_result[k]) continue;
		demand(p, fn_result(f, k));
		need_type(p, ref_type(f, fn_result(f, k)), 0);
	}
	demand_region(p, &f->regions.at[0]);
	remake_cheap(p);
	find_shown(p);
	plan_items(p, 0);
}
